import { execFileSync } from 'node:child_process'
import type { NodeHost } from './localNetwork.ts'

/** A network of namespaces on this machine that can be cut in two. Needs root and `ip`. */
export interface Namespaces {
  hostOf(index: number): NodeHost
  /** Takes these nodes away from the others; they still reach one another. */
  separate(indices: readonly number[]): void
  heal(): void
  remove(): void
}

const SUBNET = '10.77.0'

/** Whether this process may make network namespaces; why not, as a text. */
export function namespacesMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  try {
    ip('netns', 'add', 'coind-probe')
    ip('netns', 'del', 'coind-probe')
    return undefined
  } catch (error) {
    return `network namespaces cannot be made here (${String(error).split('\n')[0]})`
  }
}

/** One namespace a node, on a bridge that this process is on too. */
export function createNamespaces(count: number): Namespaces {
  const name = `cd${process.pid % 100_000}`
  const bridges = [`${name}a`, `${name}b`] as const
  for (const bridge of bridges) {
    ip('link', 'add', bridge, 'type', 'bridge')
    ip('link', 'set', bridge, 'up')
  }
  ip('addr', 'add', `${SUBNET}.254/24`, 'dev', bridges[0])
  const spaces = Array.from({ length: count }, (_, index) => {
    const space = `${name}n${index}`
    const link = `${name}v${index}`
    ip('netns', 'add', space)
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
    ip('link', 'set', link, 'master', bridges[0], 'up')
    ip('-n', space, 'addr', 'add', `${SUBNET}.${index + 1}/24`, 'dev', 'eth0')
    ip('-n', space, 'link', 'set', 'eth0', 'up')
    ip('-n', space, 'link', 'set', 'lo', 'up')
    return { space, link }
  })
  return {
    hostOf: (index) => ({ address: `${SUBNET}.${index + 1}`, within: ['ip', 'netns', 'exec', spaces[index]!.space] }),
    separate: (indices) => {
      for (const index of indices) ip('link', 'set', spaces[index]!.link, 'master', bridges[1])
    },
    heal: () => {
      for (const { link } of spaces) ip('link', 'set', link, 'master', bridges[0])
    },
    remove: () => {
      for (const { space } of spaces) ip('netns', 'del', space)
      for (const bridge of bridges) ip('link', 'del', bridge)
    },
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
