/* J. E. Burns, Mutual exclusion with linear waiting using binary shared variables, 1978: one bit per process, two processes. */
#include "teetotal.h"
bit flag[2];

active proctype P() {
  do
  :: flag[0] = 1;
     flag[1] == 0;
cs:  skip;
     flag[0] = 0
  od
}

active proctype Q() {
  do
  :: flag[1] = 0;
     if
     :: flag[0] == 1 -> skip
     :: else ->
        flag[1] = 1;
        if
        :: flag[0] == 1 -> skip
        :: else ->
cs:        skip;
           flag[1] = 0
        fi
     fi
  od
}

forbidden(mutex, P@cs && Q@cs)
