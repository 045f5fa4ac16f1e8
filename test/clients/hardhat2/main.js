// Hardhat 2 with OpenZeppelin's upgrades: proxies of each kind are deployed, upgraded and verified at the explorer. A fork of the chain reads its state.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

process.env.HARDHAT_NETWORK = 'devnet'
process.env.HARDHAT_DISABLE_TELEMETRY_PROMPT = 'true'
rmSync('.openzeppelin', { recursive: true, force: true })

/** Runs Hardhat's command line. */
function hardhat(...args) {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/hardhat', args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

hardhat('compile')
const { ethers, upgrades } = (await import('hardhat')).default
const [owner] = await ethers.getSigners()
const factory = (name) => ethers.getContractFactory(name)

const box = await upgrades.deployProxy(await factory('Box'), [owner.address, 42])
await box.waitForDeployment()
assert.equal(await box.value(), 42n)
const receipt = await (await box.store(7)).wait()
assert.equal(receipt.status, 1)
assert.equal((await box.queryFilter(box.filters.Stored(owner.address), receipt.blockNumber)).length, 1)
const refused = await box.store(1001).catch((error) => error)
assert.deepEqual(box.interface.parseError(refused.data)?.args.toArray(), [1001n])
await assert.rejects(upgrades.upgradeProxy(box, await factory('ShiftedBox')), /storage layout is incompatible/)
const larger = await upgrade(box, 'LargerBox')
await (await larger.increment()).wait()
assert.equal(await larger.value(), 8n)
assert.equal(await upgrades.prepareUpgrade(box, await factory('LargerBox')), await implementation(box))
console.log('a transparent proxy: deployed, upgraded, a layout of other storage refused, events and custom errors')

const uups = await upgrades.deployProxy(await factory('UupsBox'), [owner.address, 1], { kind: 'uups' })
await uups.waitForDeployment()
await (await (await upgrade(uups, 'LargerUupsBox')).increment()).wait()
assert.equal(await uups.value(), 2n)
const beacon = await upgrades.deployBeacon(await factory('Box'))
await beacon.waitForDeployment()
const behind = []
for (const value of [10, 20]) {
  behind.push(await upgrades.deployBeaconProxy(beacon, await factory('Box'), [owner.address, value]))
  await behind.at(-1).waitForDeployment()
}
await (await upgrades.upgradeBeacon(beacon, await factory('LargerBox'))).deployTransaction.wait()
const second = (await factory('LargerBox')).attach(await behind[1].getAddress())
await (await second.increment()).wait()
assert.deepEqual([await behind[0].value(), await second.value()], [10n, 21n])
console.log('a UUPS proxy, and a beacon with two proxies: deployed and upgraded')

for (const proxy of [box, uups, behind[0]]) await verify(await proxy.getAddress())
console.log('verify: proxies of three kinds with admin, beacon and implementation, each linked to its implementation')

const forked = hardhat('run', '--no-compile', '--network', 'hardhat', 'fork.cjs')
assert.match(forked, /the fork reads the chain and changes its copy/)
console.log('a fork of the chain by the network of Hardhat: state, impersonation')

async function upgrade(proxy, name) {
  const upgraded = await upgrades.upgradeProxy(proxy, await factory(name))
  await upgraded.deployTransaction.wait()
  return upgraded
}

async function implementation(proxy) {
  return upgrades.erc1967.getImplementationAddress(await proxy.getAddress())
}

/** Has the explorer verify a proxy and what belongs to it, once its index has the contract. */
async function verify(address) {
  const ask = async (path) => (await fetch(new URL(path, process.env.EXPLORER_URL))).json()
  while ((await ask(`api/v1/contracts/${address}`)).creation !== 'known') await sleep(100)
  const text = hardhat('verify', '--network', 'devnet', address)
  assert.match(text, /Successfully linked proxy to implementation/)
  assert.match(text, /Proxy fully verified/)
  const { result } = await ask(`api?module=contract&action=getsourcecode&address=${address}`)
  assert.notEqual(result[0].SourceCode, '')
}
