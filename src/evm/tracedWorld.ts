import type { Address } from '../primitives/address.ts'
import type { WorldState } from '../state/world.ts'
import type { Tracer } from './tracer.ts'

type Method = (...args: readonly unknown[]) => unknown

/** Methods about the account that they are given. */
const OF_ACCOUNT: ReadonlySet<string | symbol> = new Set<keyof WorldState>([
  'exists',
  'isEmpty',
  'getBalance',
  'getSpendable',
  'addBalance',
  'subBalance',
  'subDelegated',
  'setBalance',
  'getNonce',
  'setNonce',
  'getCode',
  'getCodeHash',
  'setCode',
  'touch',
])
/** Methods about the slot that follows the account. */
const OF_SLOT: ReadonlySet<string | symbol> = new Set<keyof WorldState>(['getStorage', 'setStorage'])

/**
 * Returns the world for a stateful precompile. No opcode shows a tracer the accounts that such a
 * precompile uses, so this world calls `onAccess`, where the tracer has it, before each account or
 * slot is read or changed.
 */
export function tracedWorld(world: WorldState, tracer: Tracer | undefined): WorldState {
  if (tracer?.onAccess === undefined) return world
  const onAccess = tracer.onAccess.bind(tracer)
  return new Proxy(world, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      const method = member.bind(target) as Method
      if (OF_ACCOUNT.has(name)) {
        return (account: Address, ...rest: readonly unknown[]) => {
          onAccess(account)
          return method(account, ...rest)
        }
      }
      if (!OF_SLOT.has(name)) return method
      return (account: Address, slot: Uint8Array, ...rest: readonly unknown[]) => {
        onAccess(account, slot)
        return method(account, slot, ...rest)
      }
    },
  })
}
