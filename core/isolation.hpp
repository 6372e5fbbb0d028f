// The program without a network, and with nothing that it could write to but a folder of its own: namespaces of the
// kernel's (user, network, interprocess, mount), which an ordinary user may make, where the machine allows it.
#pragma once

#include <cstdint>
#include <string>

namespace teetotal {

// Asks the kernel, and answers as it does: an error is a small negative number. The runtime has a call of its own,
// since those of the C library are hooks there.
using SystemCall = long (*)(long number, long, long, long, long, long, long);

// How far it went. `files`: what the program writes goes to a file system in memory, which ends with it.
struct Isolation {
  bool network = false, files = false;
};

// In this process and those that it starts, from now on. `own` is an empty folder for what is written into the working
// folder and into /tmp: it is kept there, in memory, `megabytes` of it at most, and goes with the last process.
// Everything can be read as before; nothing else can be written. To be called before there is a second thread.
Isolation isolate(const std::string& own, std::uint64_t megabytes, SystemCall call);

}  // namespace teetotal
