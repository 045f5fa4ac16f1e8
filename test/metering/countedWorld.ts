import type { Address } from '../../src/primitives/address.ts'
import { Journal } from '../../src/state/journal.ts'
import type { StateReader } from '../../src/state/reader.ts'
import type { NativeStore } from '../../src/state/world.ts'

/** Work on the state, counted at the state and the world themselves: the meter, which says what it costs, is what is tested. */
export interface StateWork {
  reads: number
  readBytes: number
  ranges: number
  /** keys that ranges passed, in the state and in the world */
  keys: number
  writes: number
  writtenBytes: number
  /** of accounts */
  accounts: number
}

export function noWork(): StateWork {
  return { reads: 0, readBytes: 0, ranges: 0, keys: 0, writes: 0, writtenBytes: 0, accounts: 0 }
}

/** Gas that the work costs at the least, at 15 ns per gas: half of what measurements of LevelDB and the trie gave. */
export function leastGas(work: StateWork): number {
  const { reads, readBytes, ranges, keys, writes, writtenBytes, accounts } = work
  return reads * 300 + readBytes / 2 + ranges * 700 + keys * 50 + writes * 1_000 + writtenBytes * 2 + accounts * 200
}

/** A journal on `state` whose work is added to `work`. */
export function countedWorld(state: StateReader, work: StateWork): Journal {
  const reader = overlay(state, {
    getAccount: (address: Address) => {
      work.accounts++
      return state.getAccount(address)
    },
    *nativeRange(prefix: Uint8Array, start?: Uint8Array, reverse?: boolean) {
      for (const key of state.nativeRange(prefix, start, reverse)) {
        work.keys++
        yield key
      }
    },
  })
  const world = new Journal(reader)
  const store: NativeStore = world.native
  const counted: Partial<NativeStore> = {
    get: (key) => {
      const value = store.get(key)
      work.reads++
      work.readBytes += value?.length ?? 0
      return value
    },
    set: (key, value) => {
      work.writes++
      work.writtenBytes += key.length + value.length
      store.set(key, value)
    },
    delete: (key) => {
      work.writes++
      store.delete(key)
    },
    *range(prefix, options) {
      work.ranges++
      for (const entry of store.range(prefix, options)) {
        work.reads++
        work.readBytes += entry[1].length
        yield entry
      }
    },
  }
  return overlay(world, { native: overlay(store, counted) }) as Journal
}

/** An object with some members in place of its own; methods of the others run on the object itself. */
function overlay<T extends object>(target: T, members: Partial<Record<keyof T, unknown>>): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(members, name)) return members[name as keyof T]
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
