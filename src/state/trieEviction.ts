import type { TrieNode } from './trieNode.ts'

/** How many nodes of each generation are in memory under `root`. */
export function countGenerations(root: TrieNode, counts: Map<number, number>): void {
  counts.set(root.usedAt, (counts.get(root.usedAt) ?? 0) + 1)
  if (root.kind === 'branch') {
    for (const child of root.children) if (child !== undefined) countGenerations(child, counts)
  } else if (root.kind === 'extension' && root.child !== undefined) {
    countGenerations(root.child, counts)
  }
}

/** The lowest generation such that it and the newer ones hold at most `limit` nodes; above all when the newest is too big. */
export function generationToKeep(counts: ReadonlyMap<number, number>, limit: number): number {
  let kept = 0
  let lowest = Number.POSITIVE_INFINITY
  for (const [generation, count] of [...counts].sort((a, b) => b[0] - a[0])) {
    kept += count
    if (kept > limit) break
    lowest = generation
  }
  return lowest
}

/** Lets go of the nodes below `node` that were last used before `generation`; their references remain. */
export function evictBelow(node: TrieNode, generation: number): void {
  if (node.kind === 'branch') {
    for (let i = 0; i < 16; i++) {
      const child = node.children[i]
      if (child === undefined) continue
      if (child.usedAt < generation) node.children[i] = undefined
      else evictBelow(child, generation)
    }
  } else if (node.kind === 'extension' && node.child !== undefined) {
    if (node.child.usedAt < generation) node.child = undefined
    else evictBelow(node.child, generation)
  }
}
