// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IHedgeEvents} from "./IHedgeEvents.sol";
import {IHedgePools} from "./IHedgePools.sol";
import {IHedgeProtection} from "./IHedgeProtection.sol";

/// @title Functions of creators, liquidity providers and hedgers.
/// @notice Rates, strikes and caps are 1e6; amounts are in the event's payment-token units; every division rounds down.
/// While the protocol is paused `createEvent`, `deposit`, `buyProtection` and `setPoolSettings` revert with "Paused".
interface IHedge is IHedgeEvents, IHedgePools, IHedgeProtection {}
