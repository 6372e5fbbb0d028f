/* E. W. Dijkstra, Solution of a problem in concurrent programming control, 1965, two processes.
   b and c are the original's, negated (1 where the original has false), so that all begin with 0. */
#include "teetotal.h"
#define other (1 - _pid)
bit b[2];
bit c[2];
bit k;

active [2] proctype P() {
  bit owner;
  do
  :: b[_pid] = 1;
Li1: owner = k;
     if
     :: owner != _pid ->
        c[_pid] = 0;
        if
        :: b[owner] == 0 -> k = _pid
        :: else -> skip
        fi;
        goto Li1
     :: else ->
        c[_pid] = 1;
        if
        :: c[other] == 1 -> goto Li1
        :: else -> skip
        fi
     fi;
cs:  skip;
     c[_pid] = 0;
     b[_pid] = 0
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
