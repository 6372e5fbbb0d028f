/* The ticket lock (Reed, Kanodia, 1979; Mellor-Crummey, Scott, 1991). Both counters are bytes and wrap. */
#include "teetotal.h"
byte ticket, serving;

active [2] proctype P() {
  byte mine;
  do
  :: fetch_add(mine, ticket, 1);
     serving == mine;
cs:  skip;
     serving = mine + 1
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
