import { EVM, EVMError, EVMMockBlockchain, type ExecResult, type Message, type PrecompileFunc } from '@ethereumjs/evm'
import { Account, Address } from '@ethereumjs/util'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../../../primitives/bytes.ts'
import type { WorldState } from '../../../state/world.ts'
import { codeDelegationTarget } from '../../authorization.ts'
import type { BlockContext, Rules } from '../../blockContext.ts'
import { recordTransfer } from '../../coinMovements.ts'
import { create2Address, createAddress } from '../../contractAddress.ts'
import type { ExecutionEnvironment } from '../../engine.ts'
import type { StatefulPrecompile } from '../../precompile.ts'
import { isStandardPrecompile } from '../../precompileAddresses.ts'
import { takePrecompileGas, takesPrecompileGas } from '../../precompileGas.ts'
import { standardPrecompileGas } from '../../standard/runStandardPrecompile.ts'
import { tracedWorld } from '../../tracedWorld.ts'
import { createChainCommon, freezeAnswers } from './chainCommon.ts'
import { evmCrypto } from './evmCrypto.ts'
import { FORBIDDEN_BYTE, recordEnd } from './failures.ts'
import { FASTER, failedPrecompile } from './fasterPrecompiles.ts'
import { FrameInterpreter } from './frameInterpreter.ts'
import { installHandlers } from './opcodeHandlers.ts'
import { WorldJournal, WorldStateManager, WorldTransientStorage } from './worldAdapters.ts'

type FrameState = NonNullable<ExecResult['runState']>
type EVMBlock = NonNullable<EVM['_block']>

/** Gas of work after which a run with a deadline lets its thread do other work: about 20 ms. */
const SLICE_GAS = 100_000n
/** Gas of work that entering a frame counts as: it takes time, whatever its price is. */
const FRAME_GAS = 500n

const MAX_BALANCE = (1n << 256n) - 1n

const NO_BLOCKS = new EVMMockBlockchain()
/** Between runs there is no state that could be read. */
const NO_STATE = Object.freeze({}) as unknown as EVM['stateManager']

/**
 * `@ethereumjs/evm` on a world state, with stateful precompiles. An instance serves one run at a
 * time; {@link begin} passes it everything about the run.
 */
export class ChainEVM extends EVM {
  readonly rules: Rules
  readonly #table: unknown[]
  #environment: ExecutionEnvironment | undefined
  #journal: WorldJournal | undefined
  #work = 0n
  #countedFrame: FrameState | undefined
  #countedGasLeft = 0n
  /** revert data that was hidden from a check, by frame: see {@link _executeCreate} */
  readonly #revertData = new WeakMap<object, Uint8Array>()

  constructor(rules: Rules) {
    const common = createChainCommon(rules)
    super({ common, blockchain: NO_BLOCKS, stateManager: NO_STATE, bls: evmCrypto.bls, bn254: evmCrypto.bn254 })
    freezeAnswers(common)
    this.rules = rules
    this.#table = installHandlers(this._opcodeMap)
    for (const [address, precompile] of FASTER) {
      if (this._precompiles.has(address)) this._precompiles.set(address, precompile)
    }
  }

  get world(): WorldState {
    return this.#running().world
  }

  /** Sets up a run. */
  begin(environment: ExecutionEnvironment): void {
    const { world, block, transaction } = environment
    this.#environment = environment
    this.#journal = new WorldJournal(world, this.rules.fork)
    this.#work = 0n
    this.#countedFrame = undefined
    this.stateManager = new WorldStateManager(world)
    // the adapters have all public members of the classes, but not the private ones, so the types must be cast
    this.journal = this.#journal as unknown as EVM['journal']
    Object.assign(this, { transientStorage: new WorldTransientStorage(world) })
    this.blockchain = blockHashes(block)
    this._block = blockOf(block)
    this._tx = { gasPrice: transaction.gasPrice, origin: new Address(transaction.origin) }
    this._opcodeMap = this.#table as EVM['_opcodeMap']
  }

  /** Ends a run, successful or not: leaves no checkpoint open and drops all references to the run. */
  end(): void {
    this.#journal?.unwind()
    this.events.removeAllListeners()
    this.#environment = undefined
    this.#journal = undefined
    this.#countedFrame = undefined
    this.stateManager = NO_STATE
  }

  override async runCall(options: Parameters<EVM['runCall']>[0]): ReturnType<EVM['runCall']> {
    if (this.#environment?.yield !== undefined) await this.#pause(FRAME_GAS)
    return super.runCall(options)
  }

  /** Counts the gas that a frame used since it was last counted. */
  #pauseInFrame(frame: FrameState): Promise<void> | undefined {
    const used = this.#countedFrame === frame ? this.#countedGasLeft - frame.gasLeft : 1n
    this.#countedFrame = frame
    this.#countedGasLeft = frame.gasLeft
    return this.#pause(used)
  }

  #pause(gas: bigint): Promise<void> | undefined {
    this.#work += gas
    if (this.#work < SLICE_GAS) return undefined
    this.#work = 0n
    return this.#environment?.yield?.()
  }

  #running(): ExecutionEnvironment {
    if (this.#environment === undefined) throw new Error('the EVM is not running')
    return this.#environment
  }

  /**
   * Called for every call just before its code runs, with everything that a stateful precompile needs. Resolves EIP-7702
   * delegations; a delegation to a precompile is empty code.
   */
  protected override async _loadCode(message: Message): Promise<void> {
    if (message.code !== undefined) return
    const { bytes } = message.codeAddress
    const { world, precompiles, hiddenPrecompiles } = this.#running()
    const stateful = precompiles.get(bytesKey(bytes))
    if (stateful !== undefined) {
      message.isCompiled = true
      message.code = ({ gasLimit }) => this.#runStateful(stateful, message, gasLimit)
      return
    }
    if (isStandardPrecompile(bytes, this.rules.fork) && hiddenPrecompiles?.has(bytesKey(bytes)) !== true) {
      await super._loadCode(message)
      if (takesPrecompileGas(bytes)) this.#limit(message)
      return
    }
    let code = world.getCode(bytes)
    const target = this.common.isActivatedEIP(7702) ? codeDelegationTarget(code) : undefined
    // A stateful precompile has a byte of code, so that contracts find some at its address.
    if (target !== undefined) code = precompiles.has(bytesKey(target)) ? EMPTY_BYTES : world.getCode(target)
    message.code = code
    message.isCompiled = false
  }

  /** Does the same as the stock method, with our loop and without copies of the state that nothing reads. */
  protected override async runInterpreter(message: Message): Promise<ExecResult> {
    const { caller, gasLimit, selfdestruct, createdAddresses } = message
    const address = message.to!
    const code = message.code as Uint8Array
    const interpreter = new FrameInterpreter(
      this,
      this.stateManager,
      this.blockchain,
      {
        address,
        caller,
        callData: message.data,
        callValue: message.value,
        code,
        isStatic: message.isStatic,
        isCreate: message.isCreate ?? false,
        depth: message.depth,
        gasPrice: this._tx!.gasPrice,
        origin: this._tx!.origin,
        block: this._block!,
        contract: (await this.stateManager.getAccount(address)) ?? new Account(),
        codeAddress: message._codeAddress ?? address,
        gasRefund: message.gasRefund,
        blobVersionedHashes: message.blobVersionedHashes ?? [],
        ...(createdAddresses === undefined ? {} : { createdAddresses }),
      },
      gasLimit,
      this.journal,
      this.performanceLogger,
    )
    if (this.#environment?.yield !== undefined) interpreter.pause = (frame) => this.#pauseInFrame(frame)
    const result = interpreter._result
    if (selfdestruct !== undefined) result.selfdestruct = selfdestruct
    if (createdAddresses !== undefined) result.createdAddresses = createdAddresses
    const { runState, exceptionError } = await interpreter.run(code)
    if (exceptionError === undefined) recordEnd(runState as FrameState, result.returnValue ?? EMPTY_BYTES)
    if (message.isCreate === true && exceptionError?.error === 'revert' && result.returnValue?.[0] === FORBIDDEN_BYTE) {
      this.#revertData.set(runState, result.returnValue)
      result.returnValue = EMPTY_BYTES
    }
    const keepsGas = exceptionError === undefined || exceptionError.error === 'revert'
    return {
      runState: runState as FrameState,
      returnValue: result.returnValue ?? EMPTY_BYTES,
      executionGasUsed: keepsGas ? gasLimit - runState.gasLeft : gasLimit,
      gas: runState.gasLeft,
      gasRefund: runState.gasRefund,
      ...(exceptionError === undefined
        ? { logs: result.logs, selfdestruct: result.selfdestruct, ...createdOf(result) }
        : { exceptionError, logs: [], selfdestruct: new Map(), createdAddresses: new Set() }),
    }
  }

  /**
   * As the stock method, but with the revert data of init code: when it begins with 0xef the stock method takes it for forbidden
   * code (EIP-3541), so runInterpreter hides it from that check.
   */
  protected override async _executeCreate(message: Message): ReturnType<EVM['_executeCreate']> {
    const result = await super._executeCreate(message)
    const { execResult } = result
    const output = execResult.runState === undefined ? undefined : this.#revertData.get(execResult.runState)
    return output === undefined ? result : { ...result, execResult: { ...execResult, returnValue: output } }
  }

  /** A precompile never takes more gas than it was given. One that throws ends the run, unless it is the EVM's way to fail. */
  protected override async runPrecompile(
    code: PrecompileFunc,
    data: Uint8Array,
    gasLimit: bigint,
  ): Promise<ExecResult> {
    let result: ExecResult
    try {
      result = await super.runPrecompile(code, data, gasLimit)
    } catch (error) {
      if (!(error instanceof EVMError)) throw error
      result = failedPrecompile('internal error', gasLimit)
    }
    if (result.executionGasUsed > gasLimit) result = failedPrecompile('out of gas', gasLimit)
    if (this.#environment?.yield !== undefined) this.#work += result.executionGasUsed
    return result
  }

  /** Makes the precompile that the message calls pay from the block's precompile gas before it runs. */
  #limit(message: Message): void {
    const { precompileGas } = this.#running()
    const { code, codeAddress } = message
    if (precompileGas === undefined || typeof code !== 'function') return
    const { fork } = this.rules
    message.code = (options) => {
      const { data, gasLimit } = options
      const price = standardPrecompileGas(codeAddress.bytes, data, fork)
      if (!takePrecompileGas(precompileGas, price, gasLimit)) return failedPrecompile('out of gas', gasLimit)
      return code(options)
    }
  }

  #runStateful(precompile: StatefulPrecompile, message: Message, gasLimit: bigint): ExecResult {
    const { world, block, tracer } = this.#running()
    const { caller, value, data, isStatic, delegatecall, codeAddress, to } = message
    const result = precompile.run({
      caller: caller.bytes,
      value,
      data,
      gasLimit,
      isStatic,
      isDelegated: delegatecall || to === undefined || !equalBytes(codeAddress.bytes, to.bytes),
      world: tracedWorld(world, tracer),
      block,
      beforeWrite: () => undefined,
    })
    if (result.status === 'failure') return failedPrecompile(result.failure ?? 'internal error', gasLimit)
    const success: ExecResult = { executionGasUsed: result.gasUsed, returnValue: result.output }
    return result.status === 'success' ? success : { ...success, exceptionError: new EVMError('revert') }
  }

  protected override async _generateAddress(message: Message): Promise<Address> {
    const { caller, salt } = message
    if (salt !== undefined) return new Address(create2Address(caller.bytes, salt, message.code as Uint8Array))
    return new Address(createAddress(caller.bytes, this.world.getNonce(caller.bytes) - 1n))
  }

  protected override async _reduceSenderBalance(_account: Account, message: Message): Promise<void> {
    const { caller, value } = message
    if (this.world.getSpendable(caller.bytes) < value) throw new EVMError('insufficient balance')
    this.world.subBalance(caller.bytes, value)
  }

  protected override async _addToBalance(account: Account, message: Message): Promise<void> {
    const { world } = this
    const { bytes } = message.to!
    if (world.getBalance(bytes) + message.value > MAX_BALANCE) throw new EVMError('value overflow')
    recordTransfer(world, message.caller.bytes, bytes, message.value)
    world.addBalance(bytes, message.value)
    // in a creation the given account has the raised nonce
    if (account.nonce !== world.getNonce(bytes)) world.setNonce(bytes, account.nonce)
  }
}

function createdOf({ createdAddresses }: Pick<ExecResult, 'createdAddresses'>): Pick<ExecResult, 'createdAddresses'> {
  return createdAddresses === undefined ? {} : { createdAddresses }
}

const blocks = new WeakMap<BlockContext, EVMBlock>()

function blockOf(context: BlockContext): EVMBlock {
  let block = blocks.get(context)
  if (block === undefined) {
    block = {
      header: {
        number: BigInt(context.number),
        coinbase: new Address(context.coinbase),
        timestamp: BigInt(context.timestamp),
        difficulty: context.difficulty,
        prevRandao: context.prevRandao,
        gasLimit: context.gasLimit,
        ...(context.baseFeePerGas === undefined ? {} : { baseFeePerGas: context.baseFeePerGas }),
        getBlobGasPrice: () => context.blobBaseFee,
      },
    }
    blocks.set(context, block)
  }
  return block
}

const UNKNOWN_HASH = new Uint8Array(32)

function blockHashes(context: Pick<BlockContext, 'blockHash'>): EVM['blockchain'] {
  return {
    async getBlock(number) {
      const hash = context.blockHash(number) ?? UNKNOWN_HASH
      return { hash: () => hash }
    },
    putBlock: NO_BLOCKS.putBlock,
    shallowCopy: NO_BLOCKS.shallowCopy,
  }
}
