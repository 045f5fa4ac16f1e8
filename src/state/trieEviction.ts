import type { TrieChild, TrieNode } from './trieNode.ts'

/** How many nodes of each generation are in memory under `root`. */
export function countGenerations(root: TrieNode, counts: Map<number, number>): void {
  counts.set(root.usedAt, (counts.get(root.usedAt) ?? 0) + 1)
  if (root.kind === 'branch') {
    for (const child of root.children) if (typeof child === 'object') countGenerations(child, counts)
  } else if (root.kind === 'extension' && typeof root.child === 'object') {
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
    for (let i = 0; i < 16; i++) node.children[i] = evicted(node.children[i], generation)
  } else if (node.kind === 'extension') {
    node.child = evicted(node.child, generation)
  }
}

function evicted<Child extends TrieChild | undefined>(child: Child, generation: number): Child | string {
  if (typeof child !== 'object') return child
  if (child.usedAt >= generation || child.ref === undefined) {
    evictBelow(child, generation)
    return child
  }
  return child.ref
}
