#include "streams.cpp"
