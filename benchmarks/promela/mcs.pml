/* The queue lock of J. M. Mellor-Crummey and M. L. Scott, 1991. Processes are numbered from 1, 0 is nobody. */
#include "teetotal.h"
#define me (_pid + 1)
byte tail;
byte next[3];
bit locked[3];

active [2] proctype P() {
  byte before, after;
  bit done;
  do
  :: next[me] = 0;
     xchg(before, tail, me);
     if
     :: before != 0 ->
        locked[me] = 1;
        next[before] = me;
        locked[me] == 0
     :: else -> skip
     fi;
cs:  skip;
     after = next[me];
     done = 0;
     if
     :: after == 0 ->
        cas(done, tail, me, 0);
        do
        :: done || after != 0 -> break
        :: else -> after = next[me]
        od
     :: else -> skip
     fi;
     if
     :: !done -> locked[after] = 0
     :: else -> skip
     fi
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
