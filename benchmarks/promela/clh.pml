/* The queue lock of Craig (1993), Landin and Hagersten (1994): each process waits on its predecessor's node. */
#include "teetotal.h"
bit locked[3];
byte tail = 2;   /* node 2 belongs to nobody at first */

active [2] proctype P() {
  byte mine = _pid;
  byte before;
  do
  :: locked[mine] = 1;
     xchg(before, tail, mine);
     locked[before] == 0;
cs:  skip;
     locked[mine] = 0;
     mine = before
  od
}

forbidden(mutex, P[0]@cs && P[1]@cs)
