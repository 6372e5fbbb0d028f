/* G. L. Peterson, Myths about the mutual exclusion problem, 1981, for N processes: N - 1 levels, in a loop.
   Unrolling the levels would give each its own stores, and more fences in the text. */
#include "teetotal.h"
#define N 3
byte level[N];   /* Q */
byte turn[N];    /* TURN, of levels 1 to N - 1 */

active [N] proctype P() {
  byte k, j;
  do
  :: k = 1;
     do
     :: k == N -> break
     :: else ->
        level[_pid] = k;
        turn[k] = _pid;
        j = 0;   /* wait until all others are below k, or it is someone else's turn */
        do
        :: j == N -> break
        :: j == _pid -> j++
        :: j != N && j != _pid ->
           if
           :: level[j] < k -> j++
           :: else ->
              if
              :: turn[k] != _pid -> break
              :: else -> j = 0
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
