import type { AccessListItem } from '../../chain/transaction.ts'
import type { OpcodeStep, Tracer } from '../../evm/tracer.ts'
import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesKey, keyBytes } from '../../primitives/bytes.ts'

const SLOT_OPCODES = new Set([0x54, 0x55])
/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT: the address is on top. */
const ADDRESS_OPCODES = new Set([0x31, 0x3b, 0x3c, 0x3f, 0xff])
/** CALL, CALLCODE, DELEGATECALL, STATICCALL: the address is second. */
const CALL_OPCODES = new Set([0xf1, 0xf2, 0xf4, 0xfa])

const ADDRESS_MASK = (1n << 160n) - 1n

/** Collects the accounts and slots that a run touches (geth: logger.AccessListTracer). */
export interface AccessListTracer extends Tracer {
  onOpcode(step: OpcodeStep): void
  accessList(): readonly AccessListItem[]
  /** how many accounts and slots are known */
  size(): number
}

/**
 * A tracer that starts with what `known` lists. Accounts in `excluded` (by `bytesKey`) cost nothing extra, so they are
 * listed for their slots only.
 */
export function createAccessListTracer(
  known: readonly AccessListItem[],
  excluded: ReadonlySet<string>,
): AccessListTracer {
  const slotsByAddress = new Map<string, Set<string>>()
  const slotsOf = (key: string): Set<string> => {
    const slots = slotsByAddress.get(key) ?? new Set<string>()
    slotsByAddress.set(key, slots)
    return slots
  }
  const addAddress = (address: Address): void => {
    const key = bytesKey(address)
    if (!excluded.has(key)) slotsOf(key)
  }
  for (const { address, storageKeys } of known) {
    addAddress(address)
    for (const slot of storageKeys) slotsOf(bytesKey(address)).add(bytesKey(slot))
  }
  return {
    onOpcode({ op, stack, address }) {
      const top = stack.at(-1)
      if (top === undefined) return
      if (SLOT_OPCODES.has(op)) slotsOf(bytesKey(address)).add(bytesKey(bigIntToBytes(top, 32)))
      else if (ADDRESS_OPCODES.has(op)) addAddress(toAddress(top))
      else if (CALL_OPCODES.has(op) && stack.length >= 5) addAddress(toAddress(stack.at(-2)!))
    },
    accessList: () =>
      [...slotsByAddress].map(([key, slots]) => ({ address: keyBytes(key), storageKeys: [...slots].map(keyBytes) })),
    size: () => {
      let size = slotsByAddress.size
      for (const slots of slotsByAddress.values()) size += slots.size
      return size
    },
  }
}

function toAddress(word: bigint): Address {
  return bigIntToBytes(word & ADDRESS_MASK, 20)
}
