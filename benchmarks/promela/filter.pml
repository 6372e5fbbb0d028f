/* The filter lock, Peterson's algorithm as M. Herlihy and N. Shavit have it: at each level, wait for one process after another
   until it is below that level or someone else is the victim. N processes. */
#include "teetotal.h"
#define N 3
byte level[N];
byte victim[N];

active [N] proctype P() {
  byte k, j;
  do
  :: k = 1;
     do
     :: k == N -> break
     :: else ->
        level[_pid] = k;
        victim[k] = _pid;
        j = 0;
        do
        :: j == N -> break
        :: j == _pid -> j++
        :: j != N && j != _pid ->
           if
           :: level[j] < k -> j++
           :: else ->
              if
              :: victim[k] != _pid -> break
              :: else -> skip
              fi
           fi
        od;
        k++
     od;
cs:  skip;
     level[_pid] = 0
  od
}

forbidden(mutex, (P[0]@cs && P[1]@cs) || (P[0]@cs && P[2]@cs) || (P[1]@cs && P[2]@cs))
