#ifndef BROCOT_CLIBPQ_SHIM_H
#define BROCOT_CLIBPQ_SHIM_H

#include <libpq-fe.h>

/// The fields of an error or notice. libpq has them as character macros, which Swift does not import.
enum __attribute__((enum_extensibility(closed))) DiagnosticField {
    /// Never localised, unlike PG_DIAG_SEVERITY.
    DiagnosticFieldSeverity = PG_DIAG_SEVERITY_NONLOCALIZED,
    DiagnosticFieldSqlState = PG_DIAG_SQLSTATE,
    DiagnosticFieldMessage = PG_DIAG_MESSAGE_PRIMARY,
    DiagnosticFieldDetail = PG_DIAG_MESSAGE_DETAIL,
    DiagnosticFieldHint = PG_DIAG_MESSAGE_HINT,
    DiagnosticFieldPosition = PG_DIAG_STATEMENT_POSITION,
    DiagnosticFieldInternalPosition = PG_DIAG_INTERNAL_POSITION,
    DiagnosticFieldInternalQuery = PG_DIAG_INTERNAL_QUERY,
    DiagnosticFieldContext = PG_DIAG_CONTEXT,
    DiagnosticFieldSchema = PG_DIAG_SCHEMA_NAME,
    DiagnosticFieldTable = PG_DIAG_TABLE_NAME,
    DiagnosticFieldColumn = PG_DIAG_COLUMN_NAME,
    DiagnosticFieldConstraint = PG_DIAG_CONSTRAINT_NAME,
    DiagnosticFieldSourceFunction = PG_DIAG_SOURCE_FUNCTION,
};

#endif
