import type { Rules } from '../../evm/blockContext.ts'
import type { PrecompileTable, StatefulPrecompile } from '../../evm/precompile.ts'
import { isStandardPrecompile } from '../../evm/precompileAddresses.ts'
import { createPrecompileGas, type PrecompileGas } from '../../evm/precompileGas.ts'
import { runStandardPrecompile } from '../../evm/standard/runStandardPrecompile.ts'
import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import { bytesKey, compareBytes, equalBytes } from '../../primitives/bytes.ts'
import type { Journal } from '../../state/journal.ts'
import { NATIVE_ACCOUNT } from '../../state/prepareChanges.ts'
import type { WorldState } from '../../state/world.ts'
import { serverError } from '../jsonrpc/errors.ts'
import type { AccountOverride, StateOverrides } from '../params/callRequest.ts'

/** The precompiles of a run, see `ExecutionEnvironment`. */
export interface PrecompileTables {
  readonly precompiles: PrecompileTable
  readonly hiddenPrecompiles: ReadonlySet<string>
}

/**
 * Applies overrides to the state that calls will run on (geth: override.StateOverride.Apply), as if
 * they were there before the calls. Any override of an Ethereum precompile's account turns the
 * precompile off, or moves it to another address. A precompile of the chain is turned off only by
 * other code or a move: with another balance alone it stays, since without it payments would
 * succeed and do nothing.
 * @param chain its stateful precompiles, and the gas per block for Ethereum's slower ones
 * @throws RpcError with geth's text
 */
export function applyStateOverrides(
  world: Journal,
  overrides: StateOverrides,
  { registered, precompileGasLimit }: { readonly registered: PrecompileTable; readonly precompileGasLimit: bigint },
  rules: Rules,
): PrecompileTables {
  const precompiles = new Map(registered)
  const gas = createPrecompileGas(precompileGasLimit)
  const hiddenPrecompiles = new Set<string>()
  const overridden = new Set(overrides.map(([address]) => bytesKey(address)))
  const destinations = new Set<string>()
  for (const [address, override] of [...overrides].sort((a, b) => compareBytes(a[0], b[0]))) {
    const key = bytesKey(address)
    if (destinations.has(key)) {
      throw serverError(`account ${toChecksumAddress(address)} has already been overridden by a precompile`)
    }
    const { movePrecompileToAddress: destination } = override
    if (destination !== undefined) {
      const precompile = precompiles.get(key) ?? standardPrecompile(address, rules, gas)
      if (precompile === undefined) throw serverError(`account ${toChecksumAddress(address)} is not a precompile`)
      if (overridden.has(bytesKey(destination))) {
        throw serverError(`account ${toChecksumAddress(destination)} is already overridden`)
      }
      const run: StatefulPrecompile['run'] = (call) => precompile.run(call)
      precompiles.set(bytesKey(destination), { address: destination, isMoved: true, run })
      destinations.add(bytesKey(destination))
    }
    const remains = registered.has(key) && override.code === undefined && destination === undefined
    if (!remains) precompiles.delete(key)
    if (isStandardPrecompile(address, rules.fork)) hiddenPrecompiles.add(key)
    overrideAccount(world, address, override, remains)
  }
  world.endTransaction({ clearEmpty: false })
  return { precompiles, hiddenPrecompiles }
}

/**
 * Returns one of Ethereum's precompiles in the form of a chain's own, so that it can have another
 * address.
 */
function standardPrecompile(
  address: Address,
  { fork }: Rules,
  gas: PrecompileGas,
): Pick<StatefulPrecompile, 'run'> | undefined {
  if (!isStandardPrecompile(address, fork)) return undefined
  return { run: ({ data, gasLimit }) => runStandardPrecompile(address, data, gasLimit, fork, gas) }
}

/**
 * Applies the overrides of one account.
 * @param isPrecompile whether the account remains a precompile of the chain, which reads no storage
 *   of its own
 */
function overrideAccount(world: WorldState, address: Address, override: AccountOverride, isPrecompile: boolean): void {
  const { nonce, code, balance, state, stateDiff } = override
  if (state !== undefined && stateDiff !== undefined) {
    throw serverError(`account ${toChecksumAddress(address)} has both 'state' and 'stateDiff'`)
  }
  if ((state ?? stateDiff) !== undefined) {
    const name = toChecksumAddress(address)
    if (equalBytes(address, NATIVE_ACCOUNT)) {
      throw serverError(`account ${name} is reserved: its storage is the state of the native modules`)
    }
    if (isPrecompile) {
      throw serverError(
        `account ${name} is a precompile of this chain without storage: override its code too, or leave its state out`,
      )
    }
  }
  if (nonce !== undefined) world.setNonce(address, nonce)
  if (code !== undefined) world.setCode(address, code)
  if (balance !== undefined) world.setBalance(address, balance)
  if (state !== undefined) world.clearStorage(address)
  for (const [slot, value] of state ?? stateDiff ?? []) world.setStorage(address, slot, value)
}
