use super::Groups;

/// Two groups that cross (share a feature, and neither holds the other), or None where the groups are laminar: any two
/// disjoint or nested. O(sum of the sizes of the groups).
pub(super) fn crossing_groups(groups: &Groups) -> Option<(usize, usize)> {
    let mut falling: Vec<usize> = (0..groups.len()).collect();
    falling.sort_by_key(|&g| std::cmp::Reverse(groups.members(g).len()));
    // Place in `falling`, plus one, of the last group that took the feature; 0 for none.
    let mut last = vec![0; groups.n_features()];
    for (place, &g) in falling.iter().enumerate() {
        let members = groups.members(g).iter().map(|&j| j as usize);
        let latest = members.clone().map(|j| last[j]).max().unwrap_or(0);
        for j in members {
            if last[j] != latest {
                // The latest group has a feature of g and not j (it would have taken it), and is at least as large.
                let other = falling[latest - 1];
                return Some((g.min(other), g.max(other)));
            }
            last[j] = place + 1;
        }
    }
    None
}
