// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EventFacet} from "../facets/EventFacet.sol";
import {IDeployedLogs} from "../interfaces/IDeployedLogs.sol";
import {CreateEventParams} from "../interfaces/IHedgeTypes.sol";
import {LibAttestation} from "../libraries/LibAttestation.sol";
import {LibStorage, Protocol} from "../libraries/LibStorage.sol";
import {Reasons} from "../libraries/Reasons.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title Events start with a closed pool and need a minimum seed. Without a registered signer, signatures are not
/// checked.
contract DeployedEventFacet is EventFacet {
    function createEvent(CreateEventParams calldata _params)
        external
        override
        whenNotPaused
        nonReentrant
        returns (uint256 eventId)
    {
        address token = checkTerms(_params);
        require(_params.initialLiquidity >= LibDeployed.MIN_AMOUNT, Reasons.MIN_INITIAL_LIQUIDITY);
        Protocol storage s = LibStorage.protocol();
        address signer = s.pricingEngineSigner == address(0) ? address(0) : LibAttestation.consume(_params);
        uint256 depositId;
        uint256 shares = _params.initialLiquidity * LibDeployed.SHARES_PER_UNIT;
        (eventId, depositId) = record(_params, token, signer, shares);
        s.events[eventId].poolOpen = false;
        emit IDeployedLogs.HedgeEventCreated(
            eventId,
            msg.sender,
            _params.underlying,
            _params.strike,
            _params.premiumRate,
            _params.expiryDate,
            _params.initialLiquidity
        );
        emit IDeployedLogs.LiquidityDeposited(eventId, depositId, msg.sender, _params.initialLiquidity, shares);
        LibDeployed.pull(token, s.creationFee + _params.initialLiquidity);
    }
}
