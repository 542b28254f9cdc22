// stable_abi.h: names of Python's C interface that the stable ABI lacks, by the functions that it
// has. Without the stable ABI they are macros, which read the objects directly.
#pragma once

#include <Python.h>

#if defined(Py_LIMITED_API)
#define PyFloat_AS_DOUBLE PyFloat_AsDouble
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyDict_GET_SIZE PyDict_Size
#define PyList_SET_ITEM PyList_SetItem
#define PySequence_Fast_GET_SIZE PySequence_Size
#define PySequence_Fast_GET_ITEM(items, i) \
  (PyList_Check(items) ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i))
#endif
