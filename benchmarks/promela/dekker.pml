/* Dekker's algorithm, as in E. W. Dijkstra, Cooperating sequential processes (EWD 123), 1965.
   After backing off, the original raises the flag inside the loop: a second store that needs a fence of its own.
   Versions that jump back to the first store need one fence per process instead of two. */
#include "teetotal.h"
#define other (1 - _pid)
bit flag[2];
bit turn;

active [2] proctype P() {
  do
  :: flag[_pid] = 1;
     do
     :: flag[other] == 0 -> break
     :: else ->
        if
        :: turn == other ->
           flag[_pid] = 0;
           turn == _pid;
           flag[_pid] = 1
        :: else -> skip
        fi
     od;
cs:  skip;
     turn = other;
     flag[_pid] = 0
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
