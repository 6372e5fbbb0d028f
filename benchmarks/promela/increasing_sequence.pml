/* Increasing sequence: one process counts up to LIMIT, the other never sees the counter go down. */
#include "teetotal.h"
#define LIMIT 10
byte x;

active proctype Writer() {
  byte n;
  do
  :: n < LIMIT -> n++; x = n
  :: else -> break
  od
}

active proctype Reader() {
  byte first, second;
  do
  :: first = x;
     second = x;
     assert(first <= second)
  od
}
