-- The replacement texts of this function contain backslashes, which the session's setting must not change.
ALTER FUNCTION brocot.make_place_functions(text) SET standard_conforming_strings = on;
