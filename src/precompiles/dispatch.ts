import type { PrecompileCall, PrecompileResult, StatefulPrecompile } from '../evm/precompile.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES } from '../primitives/bytes.ts'
import { type AbiType, type AbiValues, decodeArguments, encodeErrorString, selectorOf } from './abi.ts'

/** What a function reads of its call. */
export type FunctionContext = Pick<PrecompileCall, 'caller' | 'value' | 'world' | 'block'>

/** Output of a function that succeeded, or revert data. */
export type FunctionOutcome = { readonly output: Uint8Array } | { readonly revert: Uint8Array }

/** `view` may run in a STATICCALL; only `payable` accepts value, and it writes. */
export type Mutability = 'view' | 'nonpayable' | 'payable'

/** What a function is, without its name and arguments. */
interface FunctionRules {
  /** charged whatever the outcome is */
  readonly gas: bigint
  readonly mutability: Mutability
}

/** A row of a contract's table. */
export interface PrecompileFunction extends FunctionRules {
  readonly signature: string
  /** @param data calldata after the selector */
  run(context: FunctionContext, data: Uint8Array): FunctionOutcome
}

/** What runs when no row's selector matches, calldata is shorter than a selector, or there is none. */
export interface PrecompileFallback extends FunctionRules {
  run(context: FunctionContext): FunctionOutcome
}

/** Revert data of the rules that hold for every stateful precompile; no ABI names them, so they are texts. */
export const WRITE_PROTECTION = encodeErrorString('write protection')
export const DELEGATED_CALL = encodeErrorString('delegated call to a precompile')

/** Builds a row; `run` takes the arguments that `inputs` names. */
export function defineFunction<const T extends readonly AbiType[]>(
  definition: FunctionRules & {
    readonly name: string
    readonly inputs: T
    readonly run: (context: FunctionContext, ...values: AbiValues<T>) => FunctionOutcome
  },
): PrecompileFunction {
  const { name, inputs, gas, mutability, run } = definition
  return {
    signature: `${name}(${inputs.join(',')})`,
    gas,
    mutability,
    run(context, data) {
      const values = decodeArguments(inputs, data)
      return values === undefined ? { revert: EMPTY_BYTES } : run(context, ...values)
    },
  }
}

/**
 * A contract from its table. In this order a call fails when gas does not cover the function's (it takes all that is left),
 * the call is delegated, it would write under STATICCALL, value comes with a function that is not payable, arguments
 * do not decode: the last two revert without data, as compiled Solidity does.
 */
export function createPrecompile(
  address: Address,
  functions: readonly PrecompileFunction[],
  fallback: PrecompileFallback,
): StatefulPrecompile {
  const bySelector = new Map(functions.map((entry) => [bytesKey(selectorOf(entry.signature)), entry]))
  return {
    address,
    run(call) {
      const entry = call.data.length < 4 ? undefined : bySelector.get(bytesKey(call.data.subarray(0, 4)))
      const rules: FunctionRules = entry ?? fallback
      if (call.gasLimit < rules.gas) {
        return { status: 'failure', output: EMPTY_BYTES, gasUsed: call.gasLimit, failure: 'out of gas' }
      }
      const refusal = refuse(call, rules.mutability)
      if (refusal !== undefined) return reverted(rules.gas, refusal)
      const outcome = entry === undefined ? fallback.run(call) : entry.run(call, call.data.subarray(4))
      return 'revert' in outcome
        ? reverted(rules.gas, outcome.revert)
        : { status: 'success', output: outcome.output, gasUsed: rules.gas }
    },
  }
}

/** Revert data when the kind of call does not fit the function. */
function refuse(
  call: Pick<PrecompileCall, 'isDelegated' | 'isStatic' | 'value'>,
  mutability: Mutability,
): Uint8Array | undefined {
  if (call.isDelegated) return DELEGATED_CALL
  if (call.isStatic && mutability !== 'view') return WRITE_PROTECTION
  if (call.value > 0n && mutability !== 'payable') return EMPTY_BYTES
  return undefined
}

function reverted(gasUsed: bigint, output: Uint8Array): PrecompileResult {
  return { status: 'revert', output, gasUsed }
}
