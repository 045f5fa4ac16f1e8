/**
 * Gas of work a second in each of Ethereum's precompiles, with the worst of many inputs. The best of some rounds,
 * or the CPU time of all where that is less; on a machine that does other work too the speeds are too low. Asserts nothing. `--help` lists the
 * flags.
 */
import { HARDFORKS, type Hardfork } from '../src/chain/genesis/hardfork.ts'
import { runStandardPrecompile } from '../src/evm/standard/runStandardPrecompile.ts'
import { readFlags } from './flags.ts'
import { modexpInputs, type PrecompileInput, precompileInputs } from './precompileInputs.ts'

const HELP = `node bench/precompiles.ts [flags]
  --only text           only precompiles whose names contain it
  --fork osaka          whose prices count
  --rounds 5
  --all                 prints all inputs, not the worst alone
`

const flags = readFlags(HELP, {
  only: { type: 'string', default: '' },
  fork: { type: 'string', default: 'osaka' },
  rounds: { type: 'string', default: '5' },
  all: { type: 'boolean', default: false },
})
const osaka = HARDFORKS.find((name) => name === flags.fork)
if (osaka === undefined) throw new Error(`there is no fork ${flags.fork}`)

/** Short rounds: the best of them is one in which nothing else ran. */
const ROUND_MS = 3
const WARM_UP_MS = 60
/** Less CPU time of the thread cannot be measured exactly enough. */
const MIN_CPU_US = 80_000
/** Gas of the cheapest call, which every run of a precompile comes with. */
const CALL_GAS = 100
const UNLIMITED = 1n << 62n

interface Measured {
  readonly fork: Hardfork
  readonly input: PrecompileInput
  readonly gas: number
  readonly microseconds: number
}

function measure(input: PrecompileInput, fork: Hardfork): Measured {
  const address = new Uint8Array(20)
  address[18] = input.number >> 8
  address[19] = input.number & 0xff
  const { gasUsed } = runStandardPrecompile(address, input.input, UNLIMITED, fork)
  let runs = 0
  const warmUp = performance.now()
  while (performance.now() - warmUp < WARM_UP_MS) {
    runStandardPrecompile(address, input.input, UNLIMITED, fork)
    runs++
  }
  const perRound = Math.max(1, Math.round((runs * ROUND_MS) / WARM_UP_MS))
  let best = Number.POSITIVE_INFINITY
  let rounds = 0
  let cpu = 0
  const cpuStart = process.threadCpuUsage()
  while (rounds < Number(flags.rounds) || cpu < MIN_CPU_US) {
    const start = performance.now()
    for (let i = 0; i < perRound; i++) runStandardPrecompile(address, input.input, UNLIMITED, fork)
    best = Math.min(best, ((performance.now() - start) * 1_000) / perRound)
    rounds++
    const { user, system } = process.threadCpuUsage(cpuStart)
    cpu = user + system
  }
  const microseconds = Math.min(best, cpu / (rounds * perRound))
  return { fork, input, gas: input.price ?? Number(gasUsed), microseconds }
}

const speed = ({ gas, microseconds }: Measured) => gas / microseconds
const speedWithCall = ({ gas, microseconds }: Measured) => (gas + CALL_GAS) / microseconds

const measured: Measured[] = []
const wanted = (input: PrecompileInput) => input.precompile.includes(flags.only)
for (const input of precompileInputs().filter(wanted)) measured.push(measure(input, osaka))
// before Osaka MODEXP was cheaper, and longer than 1,024 bytes
for (const input of modexpInputs([1, 8, 16, 24, 32, 40, 64, 256, 1_024]).filter(wanted)) {
  measured.push(measure(input, 'cancun'))
}

/** The worst input of each precompile, or all of them. */
const groups = Map.groupBy(measured, ({ fork, input }) => `${input.precompile}${fork === osaka ? '' : ` (${fork})`}`)
const lines = [['precompile', 'input', 'gas', 'µs', 'Mgas/s', 'with CALL']]
for (const [name, group] of groups) {
  const shown = flags.all ? group : [group.reduce((a, b) => (speedWithCall(a) <= speedWithCall(b) ? a : b))]
  for (const item of shown) {
    lines.push([
      name,
      item.input.name,
      String(item.gas),
      item.microseconds.toFixed(2),
      speed(item).toFixed(0),
      speedWithCall(item).toFixed(0),
    ])
  }
}
const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
for (const line of lines) {
  console.log(line.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '))
}
