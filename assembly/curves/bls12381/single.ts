// Doubles one point of G1: both lanes work on its coordinates, as there is no second point for the other lane.
import { add, copyLane, mergeLanes, multiplyLanes, PAIR, scale, scaleEach, sumAndDifference, swapLanes } from '../field'
import { X_PARAMETER } from '../parameters'
import { addPoints, copyPoint, Lanes } from '../points'

/** The point as it is doubled: Z and X in the lanes of one pair, and Y in both lanes of the other. */
const zx = memory.data(i32(PAIR), 16)
const yy = memory.data(i32(PAIR), 16)

const squares = memory.data(i32(PAIR), 16)
const products = memory.data(i32(PAIR), 16)
const scaled = memory.data(i32(PAIR), 16)
const scaledSwapped = memory.data(i32(PAIR), 16)
const sums = memory.data(i32(PAIR), 16)
const left = memory.data(i32(PAIR), 16)
const right = memory.data(i32(PAIR), 16)

/**
 * Doubles the point in the first lane `count` times, and writes the result to both lanes. The
 * formula is that of `doublePoint`, complete too, in four products of lanes:
 * Z′ = 8·Y²·YZ and X′ = 2·(Y² − 3t)·XY and Y′ = (Y² − 3t)(Y² + t) + 8·Y²·t, with t = 3b·Z².
 */
export function doubleTimes(p: usize, count: i32): void {
  copyLane(zx, 0, p + 2 * PAIR, 0)
  copyLane(zx, 1, p, 0)
  copyLane(yy, 0, p + PAIR, 0)
  copyLane(yy, 1, p + PAIR, 0)
  for (let i = 0; i < count; i++) {
    mergeLanes(left, zx, yy)
    multiplyLanes(squares, left, left)
    multiplyLanes(products, yy, zx)
    // lanes t and 8·Y²; lanes Y² + t and Y² − 3t
    scaleEach(scaled, squares)
    sumAndDifference(sums, squares, scaled)
    swapLanes(scaledSwapped, scaled)
    add(right, sums, sums)
    mergeLanes(right, scaledSwapped, right)
    multiplyLanes(zx, products, right)
    mergeLanes(left, scaled, sums)
    swapLanes(right, sums)
    mergeLanes(right, scaledSwapped, right)
    multiplyLanes(left, left, right)
    // Y is loose
    swapLanes(right, left)
    add(yy, left, right)
  }
  scale(yy, yy, 1)
  for (let lane: usize = 0; lane < 2; lane++) {
    copyLane(p, lane, zx, 1)
    copyLane(p + PAIR, lane, yy, 0)
    copyLane(p + 2 * PAIR, lane, zx, 0)
  }
}

/** z = |x|·p of the parameter x, of the point in the first lane; z is not p. */
export function multiplySingleByParameter(z: usize, p: usize): void {
  copyPoint(z, p)
  let doublings = 0
  for (let bit = 62 - i32(clz(X_PARAMETER)); bit >= 0; bit--) {
    doublings++
    const isSet = ((X_PARAMETER >> bit) & 1) !== 0
    if (!isSet && bit > 0) continue
    doubleTimes(z, doublings)
    doublings = 0
    if (isSet) addPoints<Lanes>(z, z, p)
  }
}
