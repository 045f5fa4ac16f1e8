import type { ExecResult } from '@ethereumjs/evm'
import type { Engine, ExecutionEnvironment } from '../../src/evm/engine.ts'
import { ChainEVM } from '../../src/evm/engines/reference/chainEVM.ts'
import { createReferenceEngine } from '../../src/evm/engines/reference/referenceEngine.ts'
import { OP } from '../../src/evm/opcodes.ts'
import type { WorldState } from '../../src/state/world.ts'

type FrameState = NonNullable<ExecResult['runState']>

/** An entry of the opcode table of `@ethereumjs/evm`. */
interface OpcodeEntry {
  opcodeInfo: { readonly isAsync: boolean; readonly feeBigInt: bigint }
  opHandler: (frame: FrameState, common: unknown) => void | Promise<void>
  gasHandler: (frame: FrameState, gas: bigint, common: unknown) => bigint | Promise<bigint>
}

/** A reference engine whose opcode table was changed. */
function withOpcodes(change: (table: OpcodeEntry[]) => void): () => Engine {
  class BrokenEVM extends ChainEVM {
    override begin(environment: ExecutionEnvironment): void {
      super.begin(environment)
      const machine = this as unknown as { _opcodeMap: readonly OpcodeEntry[] }
      const table = machine._opcodeMap.map((entry) => ({ ...entry }))
      change(table)
      machine._opcodeMap = table
    }
  }
  return () => createReferenceEngine((rules) => new BrokenEVM(rules))
}

/** A reference engine that writes through a world of which some functions were changed. */
function withWorld(change: (world: WorldState) => Partial<WorldState>): () => Engine {
  const engine = createReferenceEngine()
  return () => ({
    name: 'reference',
    run: (message, environment) =>
      engine.run(message, { ...environment, world: overriding(environment.world, change(environment.world)) }),
  })
}

function overriding(world: WorldState, changes: Partial<WorldState>): WorldState {
  return new Proxy(world, {
    get: (target, name: keyof WorldState) => {
      const value = changes[name] ?? target[name]
      return typeof value === 'function' ? (value as (...args: never[]) => unknown).bind(target) : value
    },
  })
}

function afterOp(table: OpcodeEntry[], opcode: number, change: (frame: FrameState) => void): void {
  const entry = table[opcode]!
  const { opHandler, opcodeInfo } = entry
  entry.opHandler = (frame, common) => {
    const done = opHandler(frame, common)
    if (done === undefined) return change(frame)
    return done.then(() => change(frame))
  }
  entry.opcodeInfo = opcodeInfo
}

function replaceTop(frame: FrameState, change: (top: bigint) => bigint): void {
  frame.stack.push(change(frame.stack.pop()))
}

function changeGas(table: OpcodeEntry[], opcode: number, change: (cost: bigint, frame: FrameState) => bigint): void {
  const entry = table[opcode]!
  const { gasHandler } = entry
  entry.gasHandler = async (frame, gas, common) => change(await gasHandler(frame, gas, common), frame)
}

/** Engines with one fault each, which a comparison with the reference engine must find. */
export const BROKEN_ENGINES: Readonly<Record<string, () => Engine>> = {
  'ADDMOD that loses the carry': withOpcodes((table) => {
    table[OP.ADDMOD]!.opHandler = (frame) => {
      const [a, b, modulus] = frame.stack.popN(3) as [bigint, bigint, bigint]
      frame.stack.push(modulus === 0n ? 0n : BigInt.asUintN(256, a + b) % modulus)
    }
  }),
  'SDIV that rounds down': withOpcodes((table) => {
    table[OP.SDIV]!.opHandler = (frame) => {
      const [a, b] = (frame.stack.popN(2) as [bigint, bigint]).map((word) => BigInt.asIntN(256, word)) as [
        bigint,
        bigint,
      ]
      if (b === 0n) return frame.stack.push(0n)
      const quotient = a / b
      const isRounded = a % b !== 0n && a < 0n !== b < 0n
      frame.stack.push(BigInt.asUintN(256, isRounded ? quotient - 1n : quotient))
    }
  }),
  'BYTE that counts from the right': withOpcodes((table) =>
    afterOp(table, OP.BYTE, (frame) => replaceTop(frame, (top) => (top === 0n ? 0n : top ^ 1n))),
  ),
  'no refund for a cleared slot': withOpcodes((table) => {
    const entry = table[OP.SSTORE]!
    const { gasHandler } = entry
    entry.gasHandler = async (frame, gas, common) => {
      const before = frame.gasRefund
      const cost = await gasHandler(frame, gas, common)
      if (frame.gasRefund === before + 4_800n) frame.gasRefund = before
      return cost
    }
  }),
  'memory whose price is rounded up': withOpcodes((table) =>
    changeGas(table, OP.MSTORE, (cost, { memoryWordCount: words }) =>
      cost > 6n && (words * words) % 512n > 0n ? cost + 1n : cost,
    ),
  ),
  'MCOPY one gas too cheap': withOpcodes((table) => changeGas(table, OP.MCOPY, (cost) => cost - 1n)),
  'a call that gets all gas': withOpcodes((table) =>
    changeGas(table, OP.STATICCALL, (cost, frame) => {
      const all = frame.gasLeft - cost
      if ((frame.messageGasLimit ?? 0n) > all - all / 64n - 1n && all > 0n) frame.messageGasLimit = all
      return cost
    }),
  ),
  'EXTCODEHASH of nobody that is not zero': withOpcodes((table) =>
    afterOp(table, OP.EXTCODEHASH, (frame) => replaceTop(frame, (top) => (top === 0n ? 1n : top))),
  ),
  'RETURNDATASIZE that is kept by a failed CREATE': withOpcodes((table) =>
    afterOp(table, OP.CREATE, (frame) => {
      if (frame.stack.peek(1)[0] === 0n) frame.returnBytes = new Uint8Array(1)
    }),
  ),
  'an address that stays warm after a revert': withWorld((world) => {
    const marks: number[] = []
    const warmed: Uint8Array[] = []
    return {
      warmAddress: (address) => {
        warmed.push(address)
        return world.warmAddress(address)
      },
      checkpoint: () => {
        marks.push(warmed.length)
        world.checkpoint()
      },
      commit: () => {
        marks.pop()
        world.commit()
      },
      revert: () => {
        world.revert()
        for (const address of warmed.splice(marks.pop()!)) world.warmAddress(address)
      },
    }
  }),
  'a log that stays after a revert': withWorld((world) => {
    const marks: number[] = []
    return {
      checkpoint: () => {
        marks.push(world.logs().length)
        world.checkpoint()
      },
      commit: () => {
        marks.pop()
        world.commit()
      },
      revert: () => {
        const lost = world.logs().slice(marks.pop()!)
        world.revert()
        for (const log of lost) world.emitLog(log)
      },
    }
  }),
  'a log that a revert before it swallows': withWorld((world) => {
    let reverted = false
    return {
      revert: () => {
        reverted = true
        world.revert()
      },
      emitLog: (log) => {
        if (!reverted) world.emitLog(log)
        reverted = false
      },
    }
  }),
  'transient storage that a revert keeps': withWorld((world) => {
    const writes: Parameters<WorldState['setTransient']>[] = []
    return {
      setTransient: (...write) => {
        writes.push(write)
        world.setTransient(...write)
      },
      revert: () => {
        world.revert()
        for (const write of writes.splice(0)) world.setTransient(...write)
      },
    }
  }),
  'a self-destructed old contract that goes': withWorld((world) => ({
    isCreated: () => true,
    markCreated: world.markCreated,
  })),
}
