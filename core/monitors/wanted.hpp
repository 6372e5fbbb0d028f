// Who wants a report. To find out what an older value leads to is dear, and in vain where the report would say nothing
// that is not known: that an execution has one which has one already, at places that were told before.
#pragma once

#include "report.hpp"

namespace teetotal::monitors {

class Wanted {
 public:
  virtual ~Wanted() = default;

  // False: it makes no difference whether it is made.
  virtual bool wants(const Report& report) const = 0;
};

}  // namespace teetotal::monitors
