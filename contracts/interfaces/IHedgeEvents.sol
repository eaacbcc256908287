// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CreateEventParams} from "./IHedgeTypes.sol";

/// @title Creating events and opening or closing their pools.
interface IHedgeEvents {
    event EventCreated(
        uint256 indexed eventId,
        address indexed creator,
        string underlying,
        uint256 strike,
        uint256 premiumRate,
        uint256 expiryDate,
        uint256 initialLiquidity
    );
    event PoolSettingsUpdated(uint256 indexed eventId, bool poolOpen, bool allowExternalLp);

    /// @notice Creates an event with an open pool and seeds it; pulls the creation fee and the seed from the caller.
    /// @return eventId The event's id; the seed is the caller's first deposit.
    function createEvent(CreateEventParams calldata _params) external returns (uint256 eventId);

    /// @notice Opens or closes a pool for deposits and purchases, and for LPs other than the creator. Callable until
    /// settlement.
    function setPoolSettings(uint256 _eventId, bool _poolOpen, bool _allowExternalLp) external;
}
