# Completes a configuration: the last setting of an option counts, HZ follows from the choice, and FAST needs EXPERT.
match($0, /^CONFIG_[A-Za-z0-9_]+=/) { values[substr($0, 1, RLENGTH - 1)] = substr($0, RLENGTH + 1) }
END {
	delete values["CONFIG_HZ"]
	for (name in values)
		if (match(name, /^CONFIG_HZ_/) && name ~ /_(100|250|300|1000)$/) values["CONFIG_HZ"] = substr(name, RLENGTH + 1)
	if (values["CONFIG_EXPERT"] != "y") delete values["CONFIG_FAST"]
	for (name in values)
		if (values[name] != "" && values[name] != "n") print name "=" values[name] | "sort"
}
