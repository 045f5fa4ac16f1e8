import type { PrecompileCall, PrecompileResult, StatefulPrecompile } from '../../evm/precompile.ts'
import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesToHex, EMPTY_BYTES } from '../../primitives/bytes.ts'
import { isSdkError, type SdkError } from '../sdkError.ts'
import { type AbiEvent, decodeValues, encodeErrorString, encodeValues, selectorOf, signatureOf } from './abi/codec.ts'
import type { AbiFields, AbiValues } from './abi/types.ts'

/** The call of a function, with its actions besides the work on the state: gas charges and logs. */
export interface FunctionContext extends Pick<PrecompileCall, 'caller' | 'value' | 'world' | 'block'> {
  /**
   * Takes gas for work whose amount depends on the arguments or the state, before it is done. False means that not enough is
   * left: the function does not do the work and returns {@link OUT_OF_GAS}.
   */
  charge(gas: bigint): boolean
  /** Logs an event of the contract. */
  emit<I extends AbiFields, D extends AbiFields>(event: AbiEvent<I, D>, values: AbiValues<I> & AbiValues<D>): void
}

/** The call fails with this revert data; its effects are undone. */
export class Revert {
  readonly data: Uint8Array

  constructor(data: Uint8Array) {
    this.data = data
  }
}

/** The call fails and uses all the gas that it was given. */
export const OUT_OF_GAS = Symbol('out of gas')

/** Why a function returns no values. An error of a module reverts with its text, as `Error(string)`. */
export type FunctionFailure = Revert | SdkError | typeof OUT_OF_GAS

/** `view` may run in a STATICCALL; only `payable` accepts value. */
type Mutability = 'view' | 'nonpayable' | 'payable'

/** The properties of a function besides its name and parameters. */
interface FunctionRules {
  /** charged whatever the outcome */
  readonly gas: bigint
  readonly mutability: Mutability
  /** false for a function that is not `view` in the ABI but changes nothing, so that it may run in a STATICCALL */
  readonly writes?: boolean
}

/** A row of a contract's table. */
export interface PrecompileFunction extends FunctionRules {
  readonly name: string
  readonly signature: string
  readonly inputs: AbiFields
  readonly outputs: AbiFields
  /** @param data calldata after the selector; @returns the encoded outputs */
  run(context: FunctionContext, data: Uint8Array): Uint8Array | FunctionFailure
}

/** Runs when no row's selector matches, or when calldata is empty or shorter than a selector. */
interface PrecompileFallback extends FunctionRules {
  run(context: FunctionContext, data: Uint8Array): Uint8Array | FunctionFailure
}

/** A contract as a table, like its Solidity interface. */
interface PrecompileRows {
  readonly functions: readonly PrecompileFunction[]
  readonly events?: Readonly<Record<string, AbiEvent>>
  /** by default a call without a matching function reverts */
  readonly fallback?: PrecompileFallback
}

/** A contract inside the node, with the table that it was made from. */
export interface TabledPrecompile extends StatefulPrecompile {
  readonly functions: readonly PrecompileFunction[]
  readonly events: Readonly<Record<string, AbiEvent>>
}

/**
 * Returns the address of a precompile of cosmos/evm (x/vm/types/precompiles.go), where contracts
 * find it on this chain too.
 */
export function lowAddress(number: number): Address {
  return bigIntToBytes(BigInt(number), 20)
}

/** Revert data of the rules that hold for every stateful precompile. No ABI has errors for them, so they are texts. */
const WRITE_PROTECTION = encodeErrorString('write protection')
const DELEGATED_CALL = encodeErrorString('delegated call to a precompile')

/** Gas for each 32 bytes of arguments, where one has no fixed size: to decode, check and sort lists of them takes about 300 ns. */
const ARGUMENT_WORD_GAS = 30n
/** Its text takes five microseconds. */
const UNKNOWN_METHOD_GAS = 500n

const noSuchFunction: PrecompileFallback = {
  gas: UNKNOWN_METHOD_GAS,
  mutability: 'view',
  run: (_context, data) =>
    data.length < 4 ? new Revert(EMPTY_BYTES) : revertWith(`no method with id: ${bytesToHex(data.subarray(0, 4))}`),
}

/** Fails with `Error(string)`. */
export function revertWith(text: string): Revert {
  return new Revert(encodeErrorString(text))
}

export function isFailure<T>(outcome: T | FunctionFailure): outcome is FunctionFailure {
  return outcome === OUT_OF_GAS || outcome instanceof Revert || isSdkError(outcome)
}

/** Declares a function; `run` takes the arguments by their names and returns the outputs by theirs. */
export function defineFunction<const I extends AbiFields, const O extends AbiFields>(
  definition: FunctionRules & {
    readonly name: string
    readonly inputs: I
    readonly outputs: O
    readonly run: (context: FunctionContext, values: AbiValues<I>) => AbiValues<O> | FunctionFailure
  },
): PrecompileFunction {
  const { run, ...row } = definition
  const { name, inputs, outputs } = row
  return {
    ...row,
    signature: signatureOf(name, inputs),
    run(context, data) {
      const values = decodeValues(inputs, data)
      if (values === undefined) return new Revert(EMPTY_BYTES)
      const outcome = run(context, values)
      return isFailure(outcome) ? outcome : encodeValues(outputs, outcome)
    },
  }
}

/**
 * Creates a contract from its table. A call is checked in this order, which decides how it fails:
 *
 * 1. gas for the function and its arguments: without it the call takes all gas;
 * 2. no delegated calls: code of the node cannot run in the name of another contract;
 * 3. no writes under STATICCALL;
 * 4. value only for payable functions;
 * 5. arguments that decode. Without 4 or 5 the call reverts without data, as with compiled Solidity.
 *
 * A call uses the larger of its charges and of the work that it did on native entries (`WorkMeter`), whatever its outcome.
 */
export function createPrecompile(
  address: Address,
  { functions, events = {}, fallback = noSuchFunction }: PrecompileRows,
): TabledPrecompile {
  const bySelector = new Map(functions.map((entry) => [selectorNumber(selectorOf(entry.signature)), entry]))
  return {
    address,
    functions,
    events,
    leastGas: [...functions, fallback].reduce((least, { gas }) => (gas < least ? gas : least), fallback.gas),
    announcesWrites: true,
    run(call) {
      const { data, gasLimit } = call
      const entry = data.length < 4 ? undefined : bySelector.get(selectorNumber(data))
      const rules: FunctionRules = entry ?? fallback
      const meter = new Meter(gasLimit)
      const isPaid = meter.charge(rules.gas + (entry === undefined ? 0n : argumentsGas(entry, data.length - 4)))
      if (!isPaid) return outOfGas(gasLimit) // 1
      const refusal = refuse(call, rules) // 2 to 4
      if (refusal !== undefined) return reverted(meter.used, refusal)
      if (canWrite(rules)) call.beforeWrite()
      const context: FunctionContext = {
        caller: call.caller,
        value: call.value,
        world: call.world,
        block: call.block,
        charge: (gas) => meter.charge(gas),
        emit: (event, values) => call.world.emitLog(event.log(address, values)),
      }
      const ran = call.world.native.work.limited(gasLimit, () =>
        entry === undefined ? fallback.run(context, data) : entry.run(context, data.subarray(4)),
      ) // 5
      if (ran.kind === 'exceeded' || ran.value === OUT_OF_GAS) return outOfGas(gasLimit)
      const outcome = ran.value
      const gasUsed = ran.gas > meter.used ? ran.gas : meter.used
      if (outcome instanceof Revert) return reverted(gasUsed, outcome.data)
      if (isSdkError(outcome)) return reverted(gasUsed, encodeErrorString(outcome.message))
      return { status: 'success', output: outcome, gasUsed }
    },
  }
}

/** Returns the first four bytes of calldata as a number. */
function selectorNumber(data: Uint8Array): number {
  return ((data[0]! << 24) | (data[1]! << 16) | (data[2]! << 8) | data[3]!) >>> 0
}

class Meter {
  readonly #limit: bigint
  used = 0n

  constructor(limit: bigint) {
    this.#limit = limit
  }

  charge(gas: bigint): boolean {
    if (this.used + gas > this.#limit) return false
    this.used += gas
    return true
  }
}

function argumentsGas({ inputs }: Pick<PrecompileFunction, 'inputs'>, length: number): bigint {
  if (!Object.values(inputs).some((type) => type.isDynamic)) return 0n
  return BigInt(Math.ceil(length / 32)) * ARGUMENT_WORD_GAS
}

/** Returns the revert data when the kind of call does not fit the function. */
function refuse(
  call: Pick<PrecompileCall, 'isDelegated' | 'isStatic' | 'value'>,
  rules: FunctionRules,
): Uint8Array | undefined {
  if (call.isDelegated) return DELEGATED_CALL
  if (call.isStatic && canWrite(rules)) return WRITE_PROTECTION
  if (call.value > 0n && rules.mutability !== 'payable') return EMPTY_BYTES
  return undefined
}

function canWrite({ mutability, writes = mutability !== 'view' }: FunctionRules): boolean {
  return writes
}

function reverted(gasUsed: bigint, output: Uint8Array): PrecompileResult {
  return { status: 'revert', output, gasUsed }
}

function outOfGas(gasLimit: bigint): PrecompileResult {
  return { status: 'failure', output: EMPTY_BYTES, gasUsed: gasLimit, failure: 'out of gas' }
}
