/* The stack of R. K. Treiber, 1986: each process pushes its own node and then pops one, which nobody else may get, and whose
   data must be there. Nodes are numbered from 1, 0 is the empty stack. A node is pushed once, so that no ABA arises. */
#include "teetotal.h"
#define me (_pid + 1)
byte top;
byte next[3];
byte data[3];
ghost byte popped[3];

active [2] proctype P() {
  byte old, after, value;
  bit done;
  data[me] = 7;
  do
  :: old = top;
     next[me] = old;
     cas(done, top, old, me);
     if
     :: done -> break
     :: else -> skip
     fi
  od;
  do
  :: old = top;
     after = next[old];
     cas(done, top, old, after);
     if
     :: done -> break
     :: else -> skip
     fi
  od;
  popped[old]++;
  assert(popped[old] == 1);
  value = data[old];
  assert(value == 7)
}
