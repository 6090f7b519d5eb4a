#!/usr/bin/env python3
"""Writes a random instance in TSNKit's format for `tardy tsn synthesize`: NAME_task.csv and NAME_topo.csv.

usage: schedule_instance.py line|ring SWITCHES FLOWS SEED SIZES PERIODS NAME

Each switch has an end station; links have 1 bit/ns, nodes forward after 2 us, and deadlines are the periods. SIZES (bytes) and PERIODS (ns)
are lists with commas, from which each flow takes one at random.
"""

import random
import sys


def main():
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    shape, switches, flows, seed = sys.argv[1], *map(int, sys.argv[2:5])
    sizes, periods = (tuple(map(int, text.split(","))) for text in sys.argv[5:7])
    pick = random.Random(seed)
    last = switches if shape == "ring" else switches - 1
    cables = [(switch, (switch + 1) % switches) for switch in range(last)]
    cables += [(switch, switches + switch) for switch in range(switches)]
    with open(f"{sys.argv[7]}_topo.csv", "w", encoding="utf-8") as file:
        file.write("link,q_num,rate,t_proc,t_prop\n")
        for one, other in cables:
            file.write(f'"({one}, {other})",8,1,2000,0\n"({other}, {one})",8,1,2000,0\n')
    with open(f"{sys.argv[7]}_task.csv", "w", encoding="utf-8") as file:
        file.write("stream,src,dst,size,period,deadline,jitter\n")
        for flow in range(flows):
            talker, listener = pick.sample(range(switches, 2 * switches), 2)
            size, period = pick.choice(sizes), pick.choice(periods)
            file.write(f"{flow},{talker},[{listener}],{size},{period},{period},{period}\n")


main()
