/* B. K. Szymanski, A simple solution to Lamport's concurrent programming problem with linear wait, 1988, two processes.
   States of a flag: 0 outside, 1 wants in, 2 waits for others, 3 in the doorway, 4 inside. */
#include "teetotal.h"
#define other (1 - _pid)
byte flag[2];

active [2] proctype P() {
  do
  :: flag[_pid] = 1;
     flag[other] < 3;
     flag[_pid] = 3;
     if
     :: flag[other] == 1 ->
        flag[_pid] = 2;
        flag[other] == 4
     :: else -> skip
     fi;
     flag[_pid] = 4;
     if
     :: _pid == 1 -> flag[other] < 2
     :: else -> skip
     fi;
cs:  skip;
     if
     :: _pid == 0 ->
        do
        :: flag[other] < 2 -> break
        :: flag[other] == 4 -> break
        od
     :: else -> skip
     fi;
     flag[_pid] = 0
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
