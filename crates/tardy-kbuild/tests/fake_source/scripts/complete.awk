# Completes a configuration: the last setting of an option counts, HZ follows from the choice, FAST needs EXPERT, and USUAL is on unless
# the configuration states that it is not, or nothing is on unless it is stated (allnoconfig).
match($0, /^CONFIG_[A-Za-z0-9_]+=/) { values[substr($0, 1, RLENGTH - 1)] = substr($0, RLENGTH + 1) }
match($0, /^# CONFIG_[A-Za-z0-9_]+ is not set/) { values[$2] = "n" }
END {
	if (values["CONFIG_USUAL"] == "") values["CONFIG_USUAL"] = none ? "n" : "y"
	delete values["CONFIG_HZ"]
	for (name in values)
		if (values[name] == "y" && match(name, /^CONFIG_HZ_/) && name ~ /_(100|250|300|1000)$/) values["CONFIG_HZ"] = substr(name, RLENGTH + 1)
	if (values["CONFIG_EXPERT"] != "y") delete values["CONFIG_FAST"]
	for (name in values)
		if (values[name] == "n") print "# " name " is not set" | "sort"
		else if (values[name] != "") print name "=" values[name] | "sort"
}
