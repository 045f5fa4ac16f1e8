import { createGenesis } from '../../src/chain/genesis/createGenesis.ts'
import { applyGenesis, genesisStateOf } from '../../src/execution/genesisBlock.ts'
import { ANY_TYPES, MESSAGES } from '../../src/modules/messageTable.ts'
import { readNested, validateNested } from '../../src/modules/nestedMessages.ts'
import { isSdkError } from '../../src/modules/sdkError.ts'
import { ACCOUNT_KEY_TYPES, Ed25519PubKey } from '../../src/modules/tx/publicKey.ts'
import { type Address, BECH32_OPERATOR, toBech32 } from '../../src/primitives/address.ts'
import { bigIntToBytes } from '../../src/primitives/bytes.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { Json } from '../../src/primitives/protoScalars.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { Journal } from '../../src/state/journal.ts'
import type { WorldState } from '../../src/state/world.ts'
import { MemoryStateReader } from '../support/state/memoryReader.ts'

export const COIN = 10n ** 18n
const FUNDS = 10n ** 9n * COIN
const GENESIS_MS = Date.UTC(2026, 0, 1)
/** Validators of the genesis. */
export const VALIDATORS: readonly Address[] = [1, 2, 3].map((number) => account(900_000 + number))

export function account(number: number): Address {
  return sha256(bigIntToBytes(BigInt(number), 32)).slice(0, 20)
}

export const text = (number: number | Address): string =>
  toBech32(typeof number === 'number' ? account(number) : number)
export const operator = (address: Address): string => toBech32(address, BECH32_OPERATOR)
export const consensusKey = (number: number): Uint8Array => sha256(bigIntToBytes(BigInt(number), 32))
export const coins = (amount: bigint): Json => [{ denom: 'acoin', amount: amount.toString() }]
export const coin = (amount: bigint): Json => ({ denom: 'acoin', amount: amount.toString() })

const TYPES = new Map(
  [...[...ANY_TYPES.values()].map(({ type }) => type), ...ACCOUNT_KEY_TYPES, Ed25519PubKey].map((type) => [
    type.typeUrl,
    type,
  ]),
)

/** A message from JSON. @param name without the slash */
export function message(name: string, json: Json): AnyValue {
  const handler = MESSAGES.get(`/${name}`)
  if (handler === undefined) throw new Error(`there is no message ${name}`)
  const typeOf = (typeUrl: string) => MESSAGES.get(typeUrl)?.type ?? TYPES.get(typeUrl)
  return { typeUrl: handler.type.typeUrl, value: handler.type.encode(handler.type.fromJson(json, { typeOf })) }
}

/** What a message in a transaction pays and does; the bytes are decoded anew. */
export interface MessageRun {
  readonly error: string | undefined
  readonly gas: number
}

/** Gas of a transaction's byte. */
const BYTE_GAS = 10

/** The native layer on a state in memory: for the growth of a state, and for operations on the grown one. */
export class Stage {
  readonly state = new MemoryStateReader()
  height = 1
  timeMs = GENESIS_MS + 400

  constructor() {
    const [first, ...others] = VALIDATORS.map((address, index) => ({
      operator: address,
      selfDelegationAcoin: BigInt(index + 1) * 100_000n * COIN,
      consensusPublicKey: consensusKey(900_000 + index),
      moniker: `validator ${index}`,
    }))
    const genesis = createGenesis({
      ...first!,
      genesisTimeMs: GENESIS_MS,
      chainId: 'coin_76287-1',
      wallet: first!.operator,
      otherValidators: others,
      fundedAccounts: [],
      hasStaticPrecompiles: true,
    })
    this.change((world) => applyGenesis(world, genesisStateOf(genesis)))
  }

  get block() {
    return { height: this.height, timeMs: this.timeMs }
  }

  /** Does something that stays. */
  change(run: (world: Journal) => void): void {
    const world = new Journal(this.state)
    world.beginTransaction()
    run(world)
    world.endTransaction({ clearEmpty: true })
    this.state.apply(world.changes())
  }

  /** Runs messages that must succeed. */
  send(...messages: readonly AnyValue[]): void {
    this.change((world) => {
      for (const each of messages) {
        const { error } = this.run(world, each)
        if (error !== undefined) throw new Error(`${each.typeUrl}: ${error}`)
      }
    })
  }

  /** Runs a message as a transaction does, all of its effects or none; its gas is at least that of its bytes. */
  run(world: WorldState & Pick<Journal, 'checkpoint' | 'commit' | 'revert'>, { typeUrl, value }: AnyValue): MessageRun {
    const bytesGas = value.length * BYTE_GAS
    const nested = readNested({ typeUrl, value }, MESSAGES)
    if (isSdkError(nested)) return { error: nested.message, gas: bytesGas }
    const invalid = validateNested(nested)
    if (invalid !== undefined) return { error: invalid.message, gas: bytesGas }
    nested.handler.signers(nested.value)
    const fixed = Number(nested.handler.gas(nested.value))
    world.checkpoint()
    const before = world.native.work.done
    const response = nested.handler.run({ world, block: this.block }, nested.value)
    const gas = Math.max(fixed, world.native.work.done - before) + bytesGas
    if (isSdkError(response)) {
      world.revert()
      return { error: response.message, gas }
    }
    world.commit()
    return { error: undefined, gas }
  }

  fund(...numbers: readonly number[]): void {
    this.change((world) => {
      for (const number of numbers) world.setBalance(account(number), FUNDS)
    })
  }
}
