import { execFileSync } from 'node:child_process'
import type { NodeHost } from './localNetwork.ts'

/** A network of namespaces on this machine that can be cut in two. Needs root and `ip`. */
export interface Namespaces {
  hostOf(index: number): NodeHost
  /** Takes these nodes away from the others; they still reach one another. */
  separate(indices: readonly number[]): void
  heal(): void
  /**
   * Gives a node an address of the Internet beside its own one, from which its connections come, and whole networks that are there too.
   * What no node has leads nowhere: nothing leaves the bridge.
   */
  publish(index: number, address: string, networks?: readonly string[]): void
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

/**
 * One namespace a node, on a bridge that this process reaches too. The bridges are in a namespace of their own, where no firewall of the
 * machine delays packets.
 */
export function createNamespaces(count: number): Namespaces {
  const name = `cd${process.pid % 100_000}`
  const hub = `${name}h`
  const bridges = ['one', 'two'] as const
  ip('netns', 'add', hub)
  for (const bridge of bridges) ip('-n', hub, 'link', 'add', bridge, 'type', 'bridge')
  for (const bridge of bridges) ip('-n', hub, 'link', 'set', bridge, 'up')
  const own = `${name}r`
  ip('link', 'add', own, 'type', 'veth', 'peer', 'name', 'root', 'netns', hub)
  ip('addr', 'add', `${SUBNET}.254/24`, 'dev', own)
  ip('link', 'set', own, 'up')
  ip('-n', hub, 'link', 'set', 'root', 'master', bridges[0], 'up')
  const spaces = Array.from({ length: count }, (_, index) => {
    const space = `${name}n${index}`
    const link = `n${index}`
    ip('netns', 'add', space)
    ip('-n', hub, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
    ip('-n', hub, 'link', 'set', link, 'master', bridges[0], 'up')
    ip('-n', space, 'addr', 'add', `${SUBNET}.${index + 1}/24`, 'dev', 'eth0')
    ip('-n', space, 'link', 'set', 'eth0', 'up')
    ip('-n', space, 'link', 'set', 'lo', 'up')
    return { space, link }
  })
  return {
    hostOf: (index) => ({ address: `${SUBNET}.${index + 1}`, within: ['ip', 'netns', 'exec', spaces[index]!.space] }),
    separate: (indices) => {
      for (const index of indices) ip('-n', hub, 'link', 'set', spaces[index]!.link, 'master', bridges[1])
    },
    heal: () => {
      for (const { link } of spaces) ip('-n', hub, 'link', 'set', link, 'master', bridges[0])
    },
    publish: (index, address, networks = []) => {
      const { space } = spaces[index]!
      ip('-n', space, 'addr', 'add', `${address}/32`, 'dev', 'eth0')
      ip('-n', space, 'route', 'add', 'default', 'dev', 'eth0', 'src', address)
      for (const network of networks) {
        ip('-n', space, 'route', 'add', 'local', network, 'dev', 'lo')
        // One neighbour, however many addresses it has.
        for (const [other, { space: from }] of spaces.entries()) {
          if (other !== index) ip('-n', from, 'route', 'add', network, 'via', `${SUBNET}.${index + 1}`, 'dev', 'eth0')
        }
      }
    },
    remove: () => {
      for (const { space } of spaces) ip('netns', 'del', space)
      ip('netns', 'del', hub)
    },
  }
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
