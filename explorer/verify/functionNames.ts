import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import type { AbiItem } from './compile.ts'
import { type Databases, listVerified, readInterface } from './verifiedContracts.ts'

/** A call as a transaction makes it. */
interface NamedCall {
  /** 0x…; empty: it creates a contract */
  readonly to: string
  /** 0x… */
  readonly input: string
}

/** Finds the functions that calls name: `transfer(address to, uint256 amount)`, or '' for a contract that is not verified. */
export type FindFunctionNames = (calls: readonly NamedCall[]) => Promise<(call: NamedCall) => string>

type Names = ReadonlyMap<string, string>

/** Characters that are cached for later calls: names, and keys of contracts, as some have no function. */
const MAX_CACHED = 8 * 1024 * 1024
const SELECTOR_LENGTH = 10
const NO_NAMES: Names = new Map()

/** Finds them in the ABIs of verified contracts, and caches the ABIs that were used last. */
export function createFunctionNames(databases: Databases): FindFunctionNames {
  const cached = new Map<string, { readonly names: Names; readonly size: number }>()
  let total = 0

  const keep = (key: string, names: Names, size: number): void => {
    cached.set(key, { names, size })
    total += size
    for (const [oldest, entry] of cached) {
      if (total <= MAX_CACHED) break
      cached.delete(oldest)
      total -= entry.size
    }
  }

  const namesOf = async (contract: Awaited<ReturnType<typeof listVerified>>[number]): Promise<Names> => {
    // Better sources may replace these; then the time is another.
    const key = `${contract.number}.${contract.verifiedAtMs}`
    const known = cached.get(key)
    if (known !== undefined) {
      cached.delete(key)
      cached.set(key, known)
      return known.names
    }
    const { abi } = await readInterface(databases.services, contract)
    const names = nameFunctions(abi)
    const size = [...names.values()].reduce((sum, name) => sum + SELECTOR_LENGTH + name.length, key.length)
    // Another request may have read it in the meantime.
    if (!cached.has(key)) keep(key, names, size)
    return names
  }

  return async (calls) => {
    const called = new Set(calls.filter(({ input }) => input.length >= SELECTOR_LENGTH).map(({ to }) => to))
    called.delete('')
    const names = new Map<string, Names>()
    for (const contract of await listVerified(databases, [...called].map(hexToBytes))) {
      names.set(bytesToHex(contract.address), await namesOf(contract))
    }
    return ({ to, input }) => (names.get(to) ?? NO_NAMES).get(input.slice(0, SELECTOR_LENGTH)) ?? ''
  }
}

interface Parameter {
  readonly name: string
  readonly type: string
  readonly components?: readonly Parameter[]
}

/** The functions of an ABI by their selectors, as Etherscan writes them: types with names, `tuple` without its parts. */
export function nameFunctions(abi: readonly AbiItem[]): Names {
  const functions = abi.filter(
    (item): item is AbiItem & { readonly name: string } => item.type === 'function' && typeof item.name === 'string',
  )
  return new Map(
    functions.map((item): [string, string] => {
      const inputs = (item.inputs ?? []) as readonly Parameter[]
      const signature = `${item.name}(${inputs.map(typeOf).join(',')})`
      const selector = keccak256(new TextEncoder().encode(signature)).subarray(0, 4)
      return [bytesToHex(selector), `${item.name}(${inputs.map(viewParameter).join(', ')})`]
    }),
  )
}

/** As selectors are made of: `tuple[]` is `(address,uint256)[]`. */
function typeOf({ type, components = [] }: Parameter): string {
  return type.startsWith('tuple') ? `(${components.map(typeOf).join(',')})${type.slice('tuple'.length)}` : type
}

function viewParameter({ type, name }: Parameter): string {
  return name === '' ? type : `${type} ${name}`
}
