#ifndef BROCOT_CLIBPQ_SHIM_H
#define BROCOT_CLIBPQ_SHIM_H

#include <libpq-fe.h>

#endif
