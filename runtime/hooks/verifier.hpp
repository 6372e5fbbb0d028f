// The state of hooks_verifier.cpp.
#pragma once

namespace teetotal::runtime {

struct VerifierRecord {
  alignas(16) int atomic_section = 0;  // whether a thread is between __VERIFIER_atomic_begin and _end
};

struct Verifier : VerifierRecord {
  using Record = VerifierRecord;
};

extern Verifier verifier;

}  // namespace teetotal::runtime
