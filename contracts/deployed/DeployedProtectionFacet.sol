// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ProtectionFacet} from "../facets/ProtectionFacet.sol";
import {IDeployedLogs} from "../interfaces/IDeployedLogs.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent} from "../libraries/LibStorage.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title Purchases by the free liquidity and with reasons of their own.
contract DeployedProtectionFacet is ProtectionFacet {
    function buyProtection(uint256 _eventId, uint256 _notional, uint256 _maxCost, uint256 _deadline)
        external
        override
        whenNotPaused
        nonReentrant
        returns (uint256 positionId)
    {
        require(block.timestamp <= _deadline, "Transaction deadline expired");
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, "Event not open");
        require(e.poolOpen, "Pool not open for hedging");
        require(block.timestamp < e.expiryDate, "Event expired");
        require(_notional >= LibDeployed.MIN_AMOUNT, "Min notional: 10 USDC");
        require(LibPool.worstPayout(e, _notional) <= LibDeployed.free(e), "Insufficient pool liquidity for payout");
        (uint256 premium, uint256 fee) = cost(e, _notional);
        require(premium + fee <= _maxCost, "Cost exceeds slippage limit");

        positionId = record(_eventId, _notional, premium, fee);
        emit IDeployedLogs.ProtectionPurchased(
            _eventId, positionId, msg.sender, _notional, premium, fee, premium + fee
        );
        LibDeployed.pull(e.paymentToken, premium + fee);
    }
}
