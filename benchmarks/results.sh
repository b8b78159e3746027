#!/usr/bin/env bash
# Every figure of docs/results.md that comes from a comparison, into results/ (resumable: run it again to complete it).
set -euo pipefail
peerfront=${PEERFRONT:-peerfront}
data=${PEERFRONT_DATA:-../shared/data}
out=results

run() {
    local name=$1
    shift
    "$peerfront" compare --out "$out/$name" --resume "$@"
}

dp_readings=(--policy population_dp --policy population_dp:marginal=poisson)
run default --draws 5
run population-dp --draws 5 --world icpsr22140 --world icpsr22140:sigma=0.2 "${dp_readings[@]}"
run population-dp-typed --world published --world boom_bust --world bridge "${dp_readings[@]}" --episodes 2000
run default-20-draws --draws 20 --policy random_split --policy population_dp
run default-sigma-0.2 --draws 5 --world icpsr22140:sigma=0.2
run published --world published --policy random_split --policy population_dp --episodes 4000
run typed --world boom_bust --world bridge --policy random_split --policy constant:coupons=1 --policy constant:coupons=2 \
    --policy constant:coupons=3 --policy constant:coupons=5 --policy threshold --policy population_dp --episodes 2000
run network --draws 5 --world network

# The planner: an hour and more on two cores.
gfp=(--policy threshold --policy gfp --policy gfp-untrained)
ends=(--discount 0.9 --discount 1)
run gfp-learned --models learned --draws 5 --policy threshold --policy gfp --policy gfp-paper --policy gfp-untrained \
    --policy population_dp --policy population_dp:marginal=poisson,name=iid-poisson --policy random_split
run gfp-bound --draws 5 --bound --policy random_split
run gfp-typed --world bridge --world boom_bust --episodes 2000 --bound "${gfp[@]}" --policy price_index --policy population_dp
run gfp-typed-learned --world bridge --world boom_bust --episodes 2000 --models learned --policy threshold --policy gfp
run gfp-sigma --world icpsr22140:sigma=0.2 --draws 5 --models learned "${ends[@]}" "${gfp[@]}"
run gfp-network --world network --draws 3 --models learned "${ends[@]}" "${gfp[@]}"
run gfp-typed-40 --world bridge --world boom_bust --budget 40 --episodes 2000 --bound "${ends[@]}" "${gfp[@]}"
run gfp-b30 --draws 2 --budget 30 --models learned "${ends[@]}" "${gfp[@]}"
run gfp-b300 --draws 2 --budget 300 --models learned "${ends[@]}" "${gfp[@]}"
run gfp-f3 --draws 2 --people 3 --models learned "${ends[@]}" "${gfp[@]}"
run gfp-f30 --draws 2 --people 30 --models learned "${ends[@]}" "${gfp[@]}"
run five-rounds --rounds 5 --max-per-person 3 --budget 60 --draws 2 --discount 0.95 --discount 1 --policy gfp --policy gfp:deadline=no \
    --policy threshold --policy constant:coupons=3 --policy evenly --policy evenly:pace=0.5


# What composition and the generator are worth.
blind=(--policy gfp --policy gfp:sees=nothing,name=gfp-blind)
run blind-typed --world bridge --world boom_bust --episodes 2000 "${ends[@]}" "${blind[@]}"
for generator in inheritance softmax diffusion; do
    run "generator-$generator" --world bridge --world icpsr22140 --models "learned:offspring=$generator" "${ends[@]}" --policy gfp
done

korean=$data/korean_family_planning
if [ -d "$korean" ]; then
    run korean --draws 5 --world "network:name=korean,nodes=$korean/nodes.csv,edges=$korean/edges.csv,exclude=village+time_of_adoption"
else
    echo "No $korean: the network of the Korean villages is left out (set PEERFRONT_DATA to its parent folder)."
fi
