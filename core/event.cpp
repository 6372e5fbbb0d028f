#include "event.hpp"
