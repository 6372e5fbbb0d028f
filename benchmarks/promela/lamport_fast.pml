/* L. Lamport, A fast mutual exclusion algorithm, 1987: Algorithm 2, two processes. Processes are numbered from 1, 0 is nobody. */
#include "teetotal.h"
#define N 2
#define me (_pid + 1)
bit b[N];
byte x, y;

active [N] proctype P() {
  byte j;
start:
  b[_pid] = 1;
  x = me;
  if
  :: y != 0 ->
     b[_pid] = 0;
     y == 0;
     goto start
  :: else -> skip
  fi;
  y = me;
  if
  :: x != me ->
     b[_pid] = 0;
     j = 0;
     do
     :: j == N -> break
     :: else -> b[j] == 0; j++
     od;
     if
     :: y != me ->
        y == 0;
        goto start
     :: else -> skip
     fi
  :: else -> skip
  fi;
cs:
  skip;
  y = 0;
  b[_pid] = 0;
  goto start
}

forbidden(mutex, P[0]@cs && P[1]@cs)
