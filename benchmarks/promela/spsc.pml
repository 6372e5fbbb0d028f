/* L. Lamport, Specifying concurrent program modules, 1983: a ring buffer between one producer and one consumer. */
#include "teetotal.h"
#define SIZE 3
byte ring[SIZE];
byte head, tail;

active proctype Producer() {
  byte item, at, taken;
  do
  :: taken = head;
     if
     :: (at + 1) % SIZE != taken ->
        ring[at] = item;
        at = (at + 1) % SIZE;
        tail = at;
        item = (item + 1) % 4
     :: else -> skip
     fi
  od
}

active proctype Consumer() {
  byte expected, item, at, filled;
  do
  :: filled = tail;
     if
     :: at != filled ->
        item = ring[at];
        assert(item == expected);
        expected = (expected + 1) % 4;
        at = (at + 1) % SIZE;
        head = at
     :: else -> skip
     fi
  od
}
