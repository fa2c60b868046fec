# What jq has and jaq has not: rows of a table. A value that has no place in one is an error, as it is there.
def @csv: if type != "array" then error("\(type) cannot be CSV, only an array can") else
  [.[] | if type == "string" then "\"" + gsub("\""; "\"\"") + "\""
         elif . == null then ""
         elif type == "number" or type == "boolean" then tostring
         else error("\(type) is not valid in a CSV row") end] | join(",") end;
def @tsv: if type != "array" then error("\(type) cannot be TSV, only an array can") else
  [.[] | if type == "string" then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r")
         elif . == null then ""
         elif type == "number" or type == "boolean" then tostring
         else error("\(type) is not valid in a TSV row") end] | join("\t") end;
