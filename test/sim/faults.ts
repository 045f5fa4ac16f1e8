import type { Link } from './simNetwork.ts'
import type { SimNode } from './simNode.ts'
import type { Simulation } from './simulation.ts'

/** What may go wrong in a run, chosen once a run so that some runs have one kind only. */
export interface FaultPlan {
  readonly crashes: boolean
  readonly partitions: boolean
  readonly badLinks: boolean
  readonly badDisks: boolean
  readonly diskFailures: boolean
  readonly clocks: boolean
  /** average time between two faults */
  readonly everyMs: number
}

type Fault = (simulation: Simulation) => string

function pickNode(simulation: Simulation): SimNode {
  return simulation.random.pick(simulation.nodes)
}

/** Several at once, sometimes all. */
function pickNodes(simulation: Simulation): readonly SimNode[] {
  const { random, nodes } = simulation
  if (random.oneIn(12)) return nodes
  return nodes.filter(() => random.oneIn(nodes.length))
}

function restartLater(simulation: Simulation, node: SimNode, delayMs: number): void {
  const { incarnation } = node
  simulation.queue.after(delayMs, () => {
    if (node.incarnation !== incarnation || node.isUp) return
    node.disk.faults.failure = undefined
    node.start()
    reconnect(simulation, node)
  })
}

/** A process that comes up dials its known peers. */
export function reconnect(simulation: Simulation, node: SimNode): void {
  for (const other of simulation.nodes) {
    if (other === node || !other.isUp || !simulation.mayConnect(node.index, other.index)) continue
    simulation.queue.after(simulation.random.below(100), () => {
      if (node.isUp && other.isUp && simulation.mayConnect(node.index, other.index)) {
        simulation.network.connect(node.index, other.index)
      }
    })
  }
}

const crash: Fault = (simulation) => {
  const { random } = simulation
  const nodes = random.oneIn(3) ? pickNodes(simulation) : [pickNode(simulation)]
  for (const node of nodes) {
    if (!node.isUp) continue
    node.crash(random.oneIn(2) ? 'power' : 'process', { writes: random.oneIn(2) })
    restartLater(
      simulation,
      node,
      random.weighted([
        [3, random.below(200)],
        [2, random.below(3000)],
        [1, random.below(15_000)],
      ]),
    )
  }
  return `crash of ${nodes.length}`
}

const partition: Fault = (simulation) => {
  const { random, nodes, network } = simulation
  const size = nodes.length
  const lastsMs = random.weighted([
    [2, random.below(1000)],
    [2, random.below(5000)],
    [1, random.below(20_000)],
  ])
  const kind = random.below(6)
  if (kind === 0) {
    const groups: number[][] = [[], []]
    for (let index = 0; index < size; index++) random.pick(groups).push(index)
    network.partition(groups, 'silent')
  } else if (kind === 1) {
    const groups: number[][] = [[], [], []]
    for (let index = 0; index < size; index++) random.pick(groups).push(index)
    network.partition(groups, 'disconnect')
  } else if (kind === 2) {
    // A ring: every node reaches only the next two.
    network.setLinks({ blocked: true }, (from, to) => {
      const distance = (to - from + size) % size
      return distance !== 1 && distance !== size - 1
    })
  } else if (kind === 3) {
    // A node whose messages arrive but that receives none, or the other way round.
    const victim = random.below(size)
    const hears = random.oneIn(2)
    network.setLinks({ blocked: true }, (from, to) => (hears ? from : to) === victim)
  } else if (kind === 4) {
    // Any direction of any link.
    network.setLinks({ blocked: true }, () => random.oneIn(3))
  } else {
    const group = nodes.map(({ index }) => index).filter(() => random.oneIn(2))
    const flap = (left: number): void => {
      if (simulation.isCalm) return
      const isOpen = left % 2 === 0
      network.setLinks({ blocked: !isOpen }, (from, to) => group.includes(from) !== group.includes(to))
      if (left > 0) simulation.queue.after(200, () => flap(left - 1))
    }
    flap(2 * random.between(1, 10))
    return 'flapping'
  }
  simulation.queue.after(lastsMs, () => {
    if (simulation.isCalm) return
    network.setLinks({ blocked: false })
    for (const node of nodes) if (node.isUp) reconnect(simulation, node)
  })
  return `partition of kind ${kind} for ${lastsMs} ms`
}

const badLinks: Fault = (simulation) => {
  const { random, network } = simulation
  const change: Partial<Link> = random.weighted<Partial<Link>>([
    [2, { loss: random.below(30) / 100 }],
    [1, { loss: random.below(5) / 100, duplication: random.below(30) / 100 }],
    [2, { jitterMs: random.below(300) }],
    [2, { latencyMs: random.below(250) }],
    [1, { stallOneIn: random.between(20, 200), stallMs: random.below(2000) }],
    [1, { bandwidth: random.between(20_000, 200_000) }],
    [2, { loss: 0, duplication: 0, stallOneIn: 0, bandwidth: 0, jitterMs: 5 }],
  ])
  const share = random.between(1, 4)
  network.setLinks(change, () => random.oneIn(share))
  return `links ${JSON.stringify(change)}`
}

const bounce: Fault = (simulation) => {
  const { random, network, nodes } = simulation
  const a = random.below(nodes.length)
  for (const b of network.peersOf(a)) if (random.oneIn(2)) network.bounce(a, b, random.below(500))
  return `bounces connections of ${a}`
}

const badDisk: Fault = (simulation) => {
  const { random } = simulation
  const { faults } = pickNode(simulation).disk
  faults.stallOneIn = random.oneIn(2) ? 0 : random.between(3, 30)
  faults.syncMs = random.oneIn(2) ? [0.2, 1.5] : [1, random.between(5, 60)]
  return `disk ${JSON.stringify(faults)}`
}

const diskFailure: Fault = (simulation) => {
  const { random } = simulation
  const node = pickNode(simulation)
  if (!node.isUp) return 'no disk failure'
  node.disk.faults.failure = random.pick(['ENOSPC: no space left on device', 'EIO: i/o error', 'EROFS: read-only'])
  const { incarnation } = node
  simulation.queue.after(random.below(4000), () => {
    if (simulation.isCalm) return
    node.disk.faults.failure = undefined
    if (node.incarnation !== incarnation || !node.isUp) return
    node.crash('process')
    restartLater(simulation, node, 100)
  })
  return `disk failure of ${node.index}`
}

const clock: Fault = (simulation) => {
  const { random, nodes } = simulation
  const node = pickNode(simulation)
  const big =
    random.oneIn(3) && 3 * nodes.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > 400).length < nodes.length
  node.clockOffsetMs = big ? random.between(-10_000, 10_000) : random.between(-200, 200)
  return `clock of ${node.index} ${node.clockOffsetMs}`
}

/** Faults at random moments until the simulation is calm. */
export function scheduleFaults(simulation: Simulation, plan: FaultPlan): void {
  const { random, queue } = simulation
  const faults: Fault[] = []
  if (plan.crashes) faults.push(crash)
  if (plan.partitions) faults.push(partition)
  if (plan.badLinks) faults.push(badLinks, bounce)
  if (plan.badDisks) faults.push(badDisk)
  if (plan.diskFailures) faults.push(diskFailure)
  if (plan.clocks) faults.push(clock)
  if (faults.length === 0) return
  const next = (): void => {
    queue.after(random.below(2 * plan.everyMs), () => {
      if (simulation.isCalm) return
      const what = random.pick(faults)(simulation)
      simulation.trace(-1, `FAULT ${what}`)
      next()
    })
  }
  next()
}

/** The global stabilisation time: everything works from here on, byzantine validators apart. */
export function calm(simulation: Simulation): void {
  const { network, nodes } = simulation
  simulation.isCalm = true
  simulation.trace(-1, 'CALM')
  network.setLinks({
    latencyMs: 20,
    jitterMs: 10,
    loss: 0,
    duplication: 0,
    stallOneIn: 0,
    bandwidth: 0,
    blocked: false,
  })
  network.clear()
  for (const node of nodes) {
    const { faults } = node.disk
    faults.failure = undefined
    faults.stallOneIn = 0
    faults.syncMs = [0.2, 1.5]
    node.clockOffsetMs = Math.max(-100, Math.min(100, node.clockOffsetMs))
    if (node.halted !== undefined && node.isUp) node.crash('process')
    if (!node.isUp) node.start()
  }
  for (const node of nodes) reconnect(simulation, node)
}
