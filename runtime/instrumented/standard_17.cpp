#include "standard_20.cpp"
