import { publicKeyFromRaw } from '@libp2p/crypto/keys'
import { peerIdFromPublicKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, test } from 'vitest'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import {
  formatPeerAddress,
  fromMultiaddr,
  isPlausible,
  isRoutable,
  parseNodeId,
  parsePeerAddress,
  reachOf,
  tellableTo,
  toMultiaddr,
} from '../../../src/p2p/peerAddress.ts'
import { randomKey } from '../../support/p2p/testNode.ts'

test.each([
  ['127.0.0.1:26656', { host: '127.0.0.1', port: 26_656 }, '/ip4/127.0.0.1/tcp/26656'],
  ['node-1.example:1', { host: 'node-1.example', port: 1 }, '/dns/node-1.example/tcp/1'],
  ['[::1]:65535', { host: '::1', port: 65_535 }, '/ip6/::1/tcp/65535'],
])('%s is an address', (text, address, expected) => {
  expect(parsePeerAddress(text)).toEqual(address)
  expect(formatPeerAddress(address)).toBe(text)
  expect(toMultiaddr(address).toString()).toBe(expected)
  expect(fromMultiaddr(toMultiaddr(address))).toEqual(address)
})

test.each(['', 'host', 'host:', ':1', 'host:0', 'host:65536', '::1:5', '[host]:1', 'a_b:1', '[127.0.0.1]:1', 'a b:1'])(
  '%j is none',
  (text) => expect(parsePeerAddress(text)).toBeUndefined(),
)

test('an IPv4 client of an IPv6 socket is known by its IPv4 address', () => {
  expect(fromMultiaddr(multiaddr('/ip6/::ffff:1.2.3.4/tcp/5'))?.host).toMatch(/^(1\.2\.3\.4|::ffff:102:304)$/)
})

describe('where an address can be reached from', () => {
  test.each([
    ['127.9.9.9', 'loopback'],
    ['::1', 'loopback'],
    ['localhost', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:10.0.0.1', 'private'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.32.0.1', 'public'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['169.254.1.1', 'private'],
    ['fd00::1', 'private'],
    ['fe80::1', 'private'],
    ['8.8.8.8', 'public'],
    ['2001:db8::1', 'public'],
    ['validator', 'public'],
  ])('%s: %s', (host, reach) => expect(reachOf(host)).toBe(reach))

  test.each([
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '10.0.0.1', false],
    ['127.0.0.1', '8.8.8.8', false],
    ['10.0.0.2', '10.0.0.1', true],
    ['10.0.0.2', '8.8.8.8', false],
    ['8.8.8.8', '9.9.9.9', true],
    ['0.0.0.0', '127.0.0.1', false],
  ])('%s on the word of %s: %s', (host, source, expected) => expect(isPlausible(host, source)).toBe(expected))
})

test('a peer from outside is told nothing of the own network', () => {
  const hosts = ['8.8.8.8', 'node.example', '10.0.0.1', '127.0.0.1', '[fd00::1]', '[2a00::1]']
  const peers = hosts.map((host, index) => ({ id: String(index), address: `${host}:1`, isValidator: false }))
  const told = (asker: string): readonly string[] => tellableTo(asker, peers).map(({ id }) => hosts[Number(id)]!)
  expect(told('9.9.9.9')).toEqual(['8.8.8.8', 'node.example', '[2a00::1]'])
  expect(told('10.0.0.2')).toEqual(hosts.filter((host) => host !== '127.0.0.1'))
  expect(told('127.0.0.1')).toEqual(hosts)
})

test.each([
  ['8.8.8.8', true],
  ['2a00::1', true],
  ['::ffff:8.8.8.8', true],
  ['node.example', true],
  ['localhost', false],
  ['10.0.0.1', false],
  ['100.64.0.1', false],
  ['::ffff:192.168.0.1', false],
  ['0.0.0.0', false],
  ['203.0.113.1', false],
  ['255.255.255.255', false],
  ['fe80::1', false],
  ['2001:db8::1', false],
])('%s is of the Internet: %s', (host, expected) => {
  expect(isRoutable(host)).toBe(expected)
})

test('a node is known by its node ID or its libp2p peer ID', () => {
  const { publicKey } = randomKey()
  const id = nodeId(publicKey)
  const peerId = peerIdFromPublicKey(publicKeyFromRaw(publicKey)).toString()
  expect(peerId).toMatch(/^12D3KooW/)
  expect([parseNodeId(id), parseNodeId(id.toUpperCase()), parseNodeId(peerId)]).toEqual([id, id, id])
  for (const text of ['', 'x', id.slice(1), `${peerId}x`, 'QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N']) {
    expect(() => parseNodeId(text)).toThrow(TypeError)
  }
})
