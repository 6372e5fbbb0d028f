/* G. L. Peterson, Myths about the mutual exclusion problem, 1981, for two processes. */
#include "teetotal.h"
#define other (1 - _pid)
bit flag[2];
bit turn;

active [2] proctype P() {
  do
  :: flag[_pid] = 1;
     turn = other;
     do
     :: flag[other] == 0 -> break
     :: turn == _pid -> break
     od;
cs:  skip;
     flag[_pid] = 0
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
