import type { BlockContext } from '../../evm/engine.ts'
import type { PrecompileTable, StatefulPrecompile } from '../../evm/precompile.ts'
import { isStandardPrecompile } from '../../evm/precompileAddresses.ts'
import type { Rules } from '../../evm/rules.ts'
import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import { bytesKey, compareBytes } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { serverError } from '../errors.ts'
import type { BlockOverrides } from '../params/blockOverrides.ts'
import type { AccountOverride, StateOverrides } from '../params/stateOverrides.ts'

/**
 * Puts overrides into the state that a call will run on (geth: override.StateOverride.Apply) and gives the stateful
 * precompiles that remain: one whose account is overridden is gone, or answers at the address that it is moved to. The
 * standard precompiles belong to the engine: their code cannot be replaced and they cannot be moved.
 * @throws RpcError in geth's words
 */
export function applyStateOverrides(
  world: WorldState,
  overrides: StateOverrides,
  precompiles: PrecompileTable,
  rules: Rules,
): PrecompileTable {
  const remaining = new Map(precompiles)
  const overridden = new Set(overrides.map(([address]) => bytesKey(address)))
  const destinations = new Set<string>()
  for (const [address, override] of [...overrides].sort((a, b) => compareBytes(a[0], b[0]))) {
    const key = bytesKey(address)
    if (destinations.has(key)) {
      throw serverError(`account ${toChecksumAddress(address)} has already been overridden by a precompile`)
    }
    const { movePrecompileToAddress: destination } = override
    if (destination !== undefined) {
      const precompile = movable(address, remaining, rules)
      if (overridden.has(bytesKey(destination))) {
        throw serverError(`account ${toChecksumAddress(destination)} is already overridden`)
      }
      remaining.set(bytesKey(destination), { ...precompile, address: destination, run: (call) => precompile.run(call) })
      destinations.add(bytesKey(destination))
    }
    remaining.delete(key)
    overrideAccount(world, address, override, rules)
  }
  return remaining
}

function movable(address: Address, precompiles: PrecompileTable, rules: Rules): StatefulPrecompile {
  const precompile = precompiles.get(bytesKey(address))
  if (precompile !== undefined) return precompile
  const name = toChecksumAddress(address)
  throw serverError(
    isStandardPrecompile(address, rules.fork)
      ? `account ${name} is a standard precompile, which cannot be moved`
      : `account ${name} is not a precompile`,
  )
}

function overrideAccount(world: WorldState, address: Address, override: AccountOverride, rules: Rules): void {
  const { nonce, code, balance, state, stateDiff } = override
  if (state !== undefined && stateDiff !== undefined) {
    throw serverError(`account ${toChecksumAddress(address)} has both 'state' and 'stateDiff'`)
  }
  if (code !== undefined && isStandardPrecompile(address, rules.fork)) {
    throw serverError(`account ${toChecksumAddress(address)} is a standard precompile, whose code cannot be replaced`)
  }
  if (nonce !== undefined) world.setNonce(address, nonce)
  if (code !== undefined) world.setCode(address, code)
  if (balance !== undefined) world.setBalance(address, balance)
  if (state !== undefined) world.clearStorage(address)
  for (const [slot, value] of state ?? stateDiff ?? []) world.setStorage(address, slot, value)
}

/** The block as a call with overrides sees it (geth: override.BlockOverrides.Apply). @throws RpcError */
export function overrideBlock(block: BlockContext, overrides: BlockOverrides): BlockContext {
  for (const name of ['beaconRoot', 'withdrawals'] as const) {
    if (overrides[name] !== undefined) {
      throw serverError(`block override "${name}" is not supported for this RPC method`)
    }
  }
  return {
    number: overrides.number ?? block.number,
    difficulty: overrides.difficulty ?? block.difficulty,
    timestamp: overrides.time ?? block.timestamp,
    timeMs: overrides.time === undefined ? block.timeMs : overrides.time * 1000,
    gasLimit: overrides.gasLimit ?? block.gasLimit,
    coinbase: overrides.feeRecipient ?? block.coinbase,
    prevRandao: overrides.prevRandao ?? block.prevRandao,
    baseFeePerGas: overrides.baseFeePerGas ?? block.baseFeePerGas,
    blobBaseFee: overrides.blobBaseFee ?? block.blobBaseFee,
    blockHash: block.blockHash,
  }
}
